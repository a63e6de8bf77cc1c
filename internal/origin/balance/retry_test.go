package balance

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// bubble runs f within a synctest bubble, which no goroutine may outlive.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// TestRetryAtAnotherMember checks which member answers when member a is tried first and fails
// in some way.
func TestRetryAtAnotherMember(t *testing.T) {
	f := func(name, mode string, q func() *origin.Outbound, cfg Config, want string, counts ...int) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 3)
			w.node("a").set(mode)
			cfg.Transport.HeadTimeout = 5 * time.Second
			g := w.group(t, cfg)
			member := -2
			if got := ask(t, g, q(), &Choice{Member: &member}); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			for i, n := range counts {
				if x := w.node(string(rune('a' + i))); x.count() != n {
					t.Errorf("%s got %d requests, want %d", x.name, x.count(), n)
				}
			}
			if len(want) == 1 && member != int(want[0]-'a') {
				t.Errorf("got an answer from member %d", member)
			}
		})
	}
	read := get
	write := func() *origin.Outbound { return post("x") }
	safe := func() *origin.Outbound { q := post("x"); q.Repeatable = true; return q }
	once := func() *origin.Outbound { q := get(); q.Once = true; return q }
	streamed := func() *origin.Outbound {
		return &origin.Outbound{Method: []byte("PUT"), Target: []byte("/"), Body: strings.NewReader("x"), Length: 1, Repeatable: true}
	}
	rewound := func() *origin.Outbound {
		q := streamed()
		q.Rewind = func() io.Reader { return strings.NewReader("x") }
		return q
	}
	again := Config{Retry: Retry{Statuses: []int{503}}}
	f("all healthy", "ok", read, Config{}, "a", 1, 0, 0)
	// Nothing was received: any request may be retried.
	f("refused, read", "refuse", read, Config{}, "b", 0, 1, 0)
	f("refused, write", "refuse", write, Config{}, "b", 0, 1, 0)
	f("refused, streamed", "refuse", streamed, Config{}, "b", 0, 1, 0)
	f("unreachable, write", "unreachable", write, Config{}, "b", 0, 1, 0)
	f("refused, one attempt", "refuse", read, Config{Retry: Retry{Attempts: 1}}, "dial", 0, 0, 0)
	// The request may have been executed: only idempotent requests are retried.
	f("reset, read", "reset", read, Config{}, "b", 1, 1, 0)
	f("reset, read that writes", "reset", once, Config{}, "reset", 1, 0, 0)
	f("reset, write", "reset", write, Config{}, "reset", 1, 0, 0)
	f("reset, repeatable write", "reset", safe, Config{}, "b", 1, 1, 0)
	f("reset, streamed", "reset", streamed, Config{}, "reset", 1, 0, 0)
	f("reset, body can be sent again", "reset", rewound, Config{}, "b", 1, 1, 0)
	f("garbage, read", "garbage", read, Config{}, "b", 1, 1, 0)
	f("garbage, write", "garbage", write, Config{}, "garbage", 1, 0, 0)
	f("stall, read", "stall", read, Config{}, "b", 1, 1, 0)
	f("stall, write", "stall", write, Config{}, "timeout", 1, 0, 0)
	// Answers are returned unless the configuration differs.
	f("503, passed on", "503", read, Config{}, "a", 1, 0, 0)
	f("503, read", "503", read, again, "b", 1, 1, 0)
	f("503, read that writes", "503", once, again, "a", 1, 0, 0)
	f("503, write", "503", write, again, "a", 1, 0, 0)
	f("500, not named", "500", read, again, "a", 1, 0, 0)
	// A truncated body is passed on: the caller already has bytes of it.
	f("cut, read", "cut", read, Config{}, "origin a: reset after 1 attempts (may have been executed): unexpected EOF", 1, 0, 0)
}

// TestLastFault checks that the result is the first answer if retries only have faults, and
// the last fault if no member answers; Reached covers all attempts.
func TestLastFault(t *testing.T) {
	f := func(name string, modes [3]string, q *origin.Outbound, want string, reached bool, attempts int) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 3)
			for i, mode := range modes {
				w.node(string(rune('a' + i))).set(mode)
			}
			g := w.group(t, Config{Retry: Retry{Statuses: []int{503}}})
			in, fault := g.Do(t.Context(), q, nil)
			if fault != nil {
				if fault.Kind.String() != want || fault.Reached != reached || fault.Attempts != attempts {
					t.Errorf("got fault %v, want %s, reached %t, %d attempts", fault, want, reached, attempts)
				}
				return
			}
			defer in.Close()
			if body, err := io.ReadAll(in); string(body) != want || err != nil || in.Status != attempts {
				t.Errorf("got status %d, body %q, error %v; want status %d, body %q", in.Status, body, err, attempts, want)
			}
		})
	}
	f("answer, then faults", [3]string{"503", "refuse", "reset"}, get(), "a", false, 503)
	f("fault, answer, fault", [3]string{"reset", "503", "refuse"}, get(), "b", false, 503)
	f("three answers", [3]string{"503", "503", "503"}, get(), "c", false, 503)
	f("reset, then refused", [3]string{"reset", "refuse", "refuse"}, get(), "dial", true, 3)
	f("refused everywhere", [3]string{"refuse", "refuse", "refuse"}, post("x"), "dial", false, 3)
	f("refused, then reset, write", [3]string{"refuse", "reset", "ok"}, post("x"), "reset", true, 2)
}

// TestRetryBudget checks that retries after timeouts and answers use up the budget, and that
// those after broken connections don't.
func TestRetryBudget(t *testing.T) {
	f := func(name, mode string, cfg Config, good int) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 2)
			w.node("a").set(mode)
			cfg.Retry.BudgetRatio, cfg.Retry.BudgetMin = 0.01, 3
			cfg.Transport.HeadTimeout = time.Microsecond
			cfg.Ejection.Disabled, cfg.Breaker.Disabled = true, true
			g := w.group(t, cfg)
			n := 0
			for range 20 {
				if ask(t, g, get(), &Choice{Prefer: []int{0}}) == "b" {
					n++
				}
			}
			if n != good || g.metrics.spent.Value() != uint64(20-good) || g.metrics.retries.Value() != uint64(good) {
				t.Errorf("got %d answered by b, %d without budget, %d retries; want %d answers", n, g.metrics.spent.Value(), g.metrics.retries.Value(), good)
			}
		})
	}
	f("reset", "reset", Config{}, 20)
	f("refused", "refuse", Config{}, 20)
	f("timeout", "stall", Config{}, 4)
	f("status", "503", Config{Retry: Retry{Statuses: []int{503}}}, 4)
}

// TestNoMemberLeft checks the fault of a request that no member may receive.
func TestNoMemberLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		g := w.group(t, Config{})
		member := 7
		in, f := g.Do(t.Context(), get(), &Choice{Allow: func(int) bool { return false }, Member: &member})
		if in != nil || f.Kind != origin.BreakerOpen || !errors.Is(f, ErrNone) || f.Reached || member != -1 {
			t.Errorf("got fault %v, member %d", f, member)
		}
		g.Drain("a")
		if got := askSeveral(t, g, 3, nil); got != "bbb" {
			t.Errorf("with a drained: got %s", got)
		}
		if g.Drain("b"); ask(t, g, get(), nil) != "breaker-open" || g.Drain("c") {
			t.Error("drained members got requests")
		}
		if g.Undrain("a"); askSeveral(t, g, 3, nil) != "aaa" {
			t.Error("a does not answer after Undrain")
		}
	})
}

// TestChoice makes requests that allow or prefer some members.
func TestChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 3)
		g := w.group(t, Config{})
		only := func(members ...int) func(int) bool {
			return func(i int) bool { return slices.Contains(members, i) }
		}
		f := func(c Choice, want string) {
			t.Helper()
			if got := askSeveral(t, g, 4, &c); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		f(Choice{Prefer: []int{2, 0}}, "cccc")
		f(Choice{Allow: only(1)}, "bbbb")
		f(Choice{Allow: only(1, 2), Prefer: []int{0, 2}}, "cccc")
		w.node("c").kill()
		f(Choice{Prefer: []int{2, 0}}, "aaaa")
		f(Choice{Prefer: []int{2, 0}, Attempts: 1, Allow: only(2)}, "dialdialdialdial")
	})
}

// TestExcludedMemberWhenOthersAreUnreachable checks that an ejected member is tried when the
// last healthy one can't be reached. It may have recovered. Any answer is returned.
func TestExcludedMemberWhenOthersAreUnreachable(t *testing.T) {
	f := func(mode string, want string) {
		bubble(t, mode, func(t *testing.T) {
			w := newNetwork(t, 2)
			g := w.group(t, Config{Ejection: Ejection{Consecutive: 1}, Retry: Retry{Statuses: []int{503}}})
			w.node("a").set("refuse")
			ask(t, g, get(), &Choice{Prefer: []int{0}})
			w.node("a").set("ok")
			if w.node("b").set(mode); mode == "refuse" {
				w.node("b").kill()
			}
			if got := ask(t, g, get(), nil); states(g)[:1] != "e" || got != want {
				t.Errorf("states %s, got %s, want %s", states(g), got, want)
			}
			if got := ask(t, g, post("x"), nil); mode == "refuse" && got != want {
				t.Errorf("a write: got %s, want %s", got, want)
			}
		})
	}
	f("refuse", "a")
	f("reset", "a")
	f("503", "b")
}
