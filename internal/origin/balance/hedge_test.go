package balance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// TestHedge checks that a second member is tried when the first one takes long.
func TestHedge(t *testing.T) {
	f := func(name string, modes []string, cfg Config, q *origin.Outbound, want string, took time.Duration, asked int) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, len(modes))
			n := 0
			for i, mode := range modes {
				w.node(string(rune('a' + i))).set(mode)
			}
			cfg.Hedge = Hedge{Enabled: true, Delay: 100 * time.Millisecond}
			cfg.Transport.HeadTimeout = 10 * time.Second
			g := w.group(t, cfg)
			start := time.Now()
			member := -2
			got := ask(t, g, q, &Choice{Member: &member})
			if got != want || time.Since(start) != took {
				t.Errorf("got %s after %s, want %s after %s", got, time.Since(start), want, took)
			}
			synctest.Wait()
			for _, x := range w.nodes {
				n += x.count()
			}
			if n != asked || len(want) == 1 && member != int(want[0]-'a') {
				t.Errorf("got %d requests, answered by member %d; want %d requests", n, member, asked)
			}
			for i, s := range g.Members() {
				if s.InFlight != 0 {
					t.Errorf("%d exchanges with member %d are still open", s.InFlight, i)
				}
			}
		})
	}
	ms := time.Millisecond
	again := Config{Retry: Retry{Statuses: []int{503}}}
	f("quick", []string{"slow 99ms", "ok"}, Config{}, get(), "a", 99*ms, 1)
	f("slow", []string{"slow 1s", "ok"}, Config{}, get(), "b", 100*ms, 2)
	f("both slow, the first one wins", []string{"slow 150ms", "slow 1s"}, Config{}, get(), "a", 150*ms, 2)
	f("both slow, the second one wins", []string{"slow 1s", "slow 150ms"}, Config{}, get(), "b", 250*ms, 2)
	f("the second one fails", []string{"slow 300ms", "reset"}, Config{}, get(), "a", 300*ms, 2)
	f("the second one answers 503", []string{"slow 300ms", "503"}, again, get(), "a", 300*ms, 2)
	f("the second one's 503 is passed on", []string{"slow 300ms", "503"}, Config{}, get(), "b", 100*ms, 2)
	f("the first one fails at once", []string{"reset", "ok"}, Config{}, get(), "b", 0, 2)
	f("both fail", []string{"slow 300ms", "reset", "ok"}, Config{}, get(), "a", 300*ms, 2)
	f("the first stalls, the second fails, a third answers", []string{"stall", "reset", "ok"}, Config{}, get(), "c", 10*time.Second, 3)
	f("unreachable", []string{"unreachable", "ok"}, Config{}, get(), "b", 100*ms, 1)
	f("a write", []string{"slow 1s", "ok"}, Config{}, post("x"), "a", time.Second, 1)
	f("one attempt", []string{"slow 1s", "ok"}, Config{Retry: Retry{Attempts: 1}}, get(), "a", time.Second, 1)
	f("alone", []string{"slow 1s"}, Config{}, get(), "a", time.Second, 1)
}

// TestHedgeBudget checks that hedges use up the retry budget.
func TestHedgeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		w.node("a").set("slow 10us")
		g := w.group(t, Config{Hedge: Hedge{Enabled: true, Delay: time.Microsecond}, Retry: Retry{BudgetRatio: 0.01, BudgetMin: 3}})
		got := ""
		for range 10 {
			got += ask(t, g, get(), &Choice{Prefer: []int{0}})
		}
		if got != "bbbbaaaaaa" || g.metrics.hedges.Value() != 4 || g.metrics.spent.Value() != 6 {
			t.Errorf("got %s, %d hedges", got, g.metrics.hedges.Value())
		}
	})
}

// TestHedgeByMeasuredDelay checks that a hedge waits for the measured quantile, once it is
// available.
func TestHedgeByMeasuredDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		g := w.group(t, Config{Hedge: Hedge{Enabled: true}})
		w.node("a").set("slow 50ms")
		first := &Choice{Prefer: []int{0}}
		for i := range 200 {
			if i == 95 {
				w.node("a").set("slow 20ms")
			}
			ask(t, g, get(), first)
		}
		w.node("a").set("slow 10s")
		start := time.Now()
		if got := ask(t, g, get(), first); got != "b" {
			t.Errorf("got %s", got)
		}
		if took := time.Since(start); took < 50*time.Millisecond || took > 65*time.Millisecond {
			t.Errorf("waited for %s", took)
		}
		time.Sleep(time.Minute) // the measured times are forgotten
		if got := ask(t, g, get(), first); got != "a" {
			t.Errorf("got %s without measured times", got)
		}
	})
}

// TestQuantile compares quantiles with the observed values.
func TestQuantile(t *testing.T) {
	var q quantile
	now := time.Unix(1000, 0)
	for i := range 1000 {
		q.observe(time.Duration(i+1)*time.Millisecond, now)
	}
	for _, p := range []float64{0.01, 0.5, 0.95, 1} {
		got, ok := q.at(p, now)
		want := time.Duration(p*1000) * time.Millisecond
		if !ok || got < want || got > want*5/4 {
			t.Errorf("quantile %v: got %s, want %s to a quarter more", p, got, want)
		}
	}
	if _, ok := q.at(0.5, now.Add(19*time.Second)); !ok {
		t.Error("the values were forgotten within 20 seconds")
	}
	if _, ok := q.at(0.5, now.Add(41*time.Second)); ok {
		t.Error("the values were kept for 40 seconds")
	}
	for b := bucket(4); b < 61*4; b++ {
		if bucket(upper(b)) != b+1 || bucket(upper(b)-1) != b {
			t.Errorf("bucket %d ends at %d", b, upper(b))
		}
	}
}

// TestEwma checks that the average follows a longer time at once and a shorter one slowly, and
// is forgotten after a while.
func TestEwma(t *testing.T) {
	var e ewma
	now := time.Unix(1000, 0)
	want := func(what string, shortest, longest time.Duration) {
		t.Helper()
		if got := time.Duration(e.at(now) * 1e9); got < shortest || got > longest {
			t.Errorf("%s: got %s, want %s to %s", what, got, shortest, longest)
		}
	}
	want("nothing", minLatency, minLatency)
	e.observe(100*time.Millisecond, now)
	want("the first", 99*time.Millisecond, 100*time.Millisecond)
	now = now.Add(time.Second)
	e.observe(10*time.Millisecond, now)
	want("shorter", 85*time.Millisecond, 95*time.Millisecond)
	e.observe(500*time.Millisecond, now)
	want("longer", 499*time.Millisecond, 500*time.Millisecond)
	for range 20 {
		e.observeFailure(0, now)
	}
	want("failures", maxLatency-time.Second, maxLatency)
	now = now.Add(3 * time.Minute)
	want("long ago", minLatency, minLatency)
}

// TestP2CAvoidsSlowMember checks that a slow member receives fewer requests, and more when it
// is fast again.
func TestP2CAvoidsSlowMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 3)
		for _, x := range w.nodes {
			x.set("slow 10ms")
		}
		w.node("a").set("slow 100ms")
		g := w.group(t, Config{Algorithm: P2C})
		got := askSeveral(t, g, 300, nil)
		if n := strings.Count(got, "a"); n < 1 || n > 30 {
			t.Errorf("the slow member got %d of 300 requests", n)
		}
		w.node("a").set("slow 10ms")
		time.Sleep(time.Minute)
		if n := strings.Count(askSeveral(t, g, 300, nil), "a"); n < 20 {
			t.Errorf("the member got %d of 300 requests when it was fast again", n)
		}
	})
}
