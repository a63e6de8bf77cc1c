package balance

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// series returns a scrape of r.
func series(r *telemetry.Registry) string {
	rec := httptest.NewRecorder()
	r.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

// TestReconfigure checks that unchanged members keep all their state.
func TestReconfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, reg := newNetwork(t, 4), telemetry.NewRegistry()
		all := w.members()
		cfg := Config{Name: "test", Members: all[:3], Metrics: reg, Transport: origin.TransportConfig{Dialer: w}}
		g := w.group(t, cfg)
		askSeveral(t, g, 6, nil)
		w.node("a").set("500")
		askSeveral(t, g, 5, &Choice{Prefer: []int{0}})
		g.Drain("b")
		if states(g) != "edu" {
			t.Fatal(states(g))
		}
		cfg.Members = []Member{all[3], all[1], all[0]} // c is removed, d is added
		cfg.Algorithm, cfg.Check.Path = LeastRequests, "/up"
		if err := g.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		if got := askSeveral(t, g, 3, nil); states(g) != "ude" || got != "ddd" {
			t.Errorf("states %s, got %s", states(g), got)
		}
		scrape := series(reg)
		for _, want := range []string{
			`kasoku_upstream_requests_total{member="a",outcome="5xx",service="test"} 5`,
			`kasoku_upstream_requests_total{member="d",outcome="2xx",service="test"} 3`,
			`kasoku_upstream_connections_total{member="b",service="test"} 1`,
			`kasoku_upstream_available{member="a",service="test"} 0`,
			`kasoku_upstream_available{member="d",service="test"} 1`,
			`kasoku_upstream_ejections_total{member="a",service="test"} 1`,
		} {
			if !strings.Contains(scrape, want+"\n") {
				t.Errorf("no line %s in\n%s", want, scrape)
			}
		}
		if strings.Contains(scrape, `member="c"`) {
			t.Error("series of a removed member")
		}
		synctest.Wait()
		if !slices.Contains(w.node("d").all(), "GET /up") {
			t.Error("no checks of the new configuration")
		}
		// A refused configuration changes nothing, including the series.
		bad := cfg
		bad.Members = []Member{{Name: "d", URL: "http://other"}, {Name: "x", URL: "ftp://x"}}
		w.node("d").kill()
		if err := g.Reconfigure(bad); err == nil {
			t.Error("a bad URL was accepted")
		}
		g.Drain("d")
		if s := series(reg); !strings.Contains(s, `kasoku_upstream_available{member="d",service="test"} 0`) || strings.Contains(s, `available{member="x"`) {
			t.Error("series of members of a refused configuration")
		}
		// Another URL or transport makes another member.
		cfg.Transport.MaxIdleConns = 7
		if err := g.Reconfigure(cfg); err != nil || states(g) != "uuu" {
			t.Errorf("got error %v, states %s", err, states(g))
		}
	})
}

// TestReconfigureDuringRequest changes the members during a request, which is not disturbed.
func TestReconfigureDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		cfg := Config{Name: "test", Members: w.members(), Transport: origin.TransportConfig{Dialer: w}}
		g := w.group(t, cfg)
		w.node("a").set("slow 10s")
		got := make(chan string)
		go func() { got <- ask(t, g, get(), nil) }()
		time.Sleep(time.Second)
		cfg.Members = cfg.Members[1:]
		if err := g.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s != "a" {
			t.Errorf("got %s", s)
		}
		if s := askSeveral(t, g, 3, nil); s != "bbb" {
			t.Errorf("got %s", s)
		}
	})
}

// TestRefusedConfigurations checks that a refused configuration changes nothing.
func TestRefusedConfigurations(t *testing.T) {
	members := []Member{{Name: "a", URL: "http://a"}, {Name: "b", URL: "http://b"}}
	g := group(t, Config{Members: members})
	f := func(cfg Config, want string) {
		t.Helper()
		cfg.Name = "test"
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: got error %v, want %q", err, want)
		}
		if err := g.Reconfigure(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Reconfigure: got error %v, want %q", err, want)
		}
	}
	f(Config{}, "no members")
	f(Config{Members: members, Algorithm: "x"}, `no algorithm "x"`)
	f(Config{Members: append(members, members[0])}, "two members a")
	f(Config{Members: []Member{{URL: "http://a", Weight: -1}}}, "weight")
	f(Config{Members: []Member{{URL: "ftp://a"}}}, "scheme")
	f(Config{Members: members, SlowStart: -1}, "times")
	f(Config{Members: members, Check: Check{Window: 65}}, "window")
	f(Config{Members: members, Check: Check{Window: 3, Threshold: 4}}, "threshold")
	f(Config{Members: members, Check: Check{Timeout: -1}}, "check")
	f(Config{Members: members, Ejection: Ejection{MaxShare: 2}}, "shares")
	f(Config{Members: members, Ejection: Ejection{Consecutive: -1}}, "ejection")
	f(Config{Members: members, Ejection: Ejection{Time: time.Hour, MaxTime: time.Minute}}, "max time")
	f(Config{Members: members, Retry: Retry{Attempts: -1}}, "retry")
	if err := g.Reconfigure(Config{Name: "other", Members: members}); err == nil {
		t.Error("the name was changed")
	}
	if len(g.Members()) != 2 || states(g) != "uu" {
		t.Errorf("got members %+v", g.Members())
	}
}

// TestMinimalMovement compares the mapping of keys before and after a member is added, removed
// or changes its weight.
func TestMinimalMovement(t *testing.T) {
	const keys = 20_000
	owners := func(members []Member) []string {
		g := group(t, Config{Members: members, Algorithm: ConsistentHash})
		got := make([]string, keys)
		for i := range got {
			r := request{g: g, t: g.table.Load(), choice: &Choice{Key: bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1+i%3)}}
			got[i] = members[r.pick(time.Now())].Name
		}
		return got
	}
	members := make([]Member, 10)
	for i := range members {
		members[i] = Member{Name: string(rune('a' + i)), URL: "http://x"}
	}
	before := owners(members)
	share := map[string]int{}
	for _, name := range before {
		share[name]++
	}
	for name, n := range share {
		if n < keys/10*9/10 || n > keys/10*11/10 {
			t.Errorf("%s has %d of %d keys", name, n, keys)
		}
	}
	moved := func(after []string, allowed func(from, to string) bool) (n int) {
		t.Helper()
		for i := range after {
			if after[i] == before[i] {
				continue
			}
			if n++; !allowed(before[i], after[i]) {
				t.Fatalf("key %d moved from %s to %s", i, before[i], after[i])
			}
		}
		return n
	}
	if n := moved(owners(members[:9]), func(from, _ string) bool { return from == "j" }); n != share["j"] {
		t.Errorf("%d keys moved from j, want its %d", n, share["j"])
	}
	more := append(slices.Clone(members), Member{Name: "k", URL: "http://x"})
	if n := moved(owners(more), func(_, to string) bool { return to == "k" }); n < keys/11*9/10 || n > keys/11*11/10 {
		t.Errorf("%d keys moved to k", n)
	}
	heavy := slices.Clone(members)
	heavy[0].Weight = 2
	if n := moved(owners(heavy), func(_, to string) bool { return to == "a" }); n < keys/11*8/10 || n > keys/11*10/10 {
		t.Errorf("%d keys moved to a when its weight was doubled", n)
	}
	slices.Reverse(members)
	if n := moved(owners(members), func(_, _ string) bool { return false }); n != 0 {
		t.Error("keys moved when the order of the members changed")
	}
}

// TestNames checks that a choice means the same members when their indexes have changed since
// it was made.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 4)
		all := w.members()
		cfg := Config{Name: "test", Members: all[:3], Transport: origin.TransportConfig{Dialer: w}}
		g := w.group(t, cfg)
		names := []string{"a", "b", "c"}
		f := func(c Choice, want string, member int) {
			t.Helper()
			at := -2
			c.Names, c.Member = names, &at
			if got := askSeveral(t, g, 3, &c); got != want || at != member {
				t.Errorf("got %s, member %d; want %s, member %d", got, at, want, member)
			}
		}
		only := func(i int) func(int) bool { return func(at int) bool { return at == i } }
		check := func() {
			t.Helper()
			f(Choice{Prefer: []int{1, 0}}, "bbb", 1)
			f(Choice{Allow: only(0)}, "aaa", 0)
		}
		check()
		cfg.Members = []Member{all[3], all[1], all[0]} // c is removed, d is added
		if err := g.Reconfigure(cfg); err != nil {
			t.Fatal(err)
		}
		check()
		f(Choice{Prefer: []int{2, 0}}, "aaa", 0)
		g.Drain("a")
		g.Drain("b")
		f(Choice{Prefer: []int{0, 1, 2}}, "ddd", -1)
		at := 0
		_, fault := g.Do(t.Context(), &origin.Outbound{Method: []byte("GET"), Target: []byte("/")}, &Choice{Names: names, Allow: only(2), Member: &at})
		if fault == nil || !errors.Is(fault.Err, ErrNone) || at != -1 {
			t.Errorf("with only a removed member allowed: got fault %v, member %d", fault, at)
		}
	})
}
