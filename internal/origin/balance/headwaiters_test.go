package balance

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// TestFailedChecksEndWaits makes a member stop answering during a request. Its checks fail too,
// which ends the wait for the answer.
func TestFailedChecksEndWaits(t *testing.T) {
	f := func(name string, q *origin.Outbound, cfg Config, dead, want string, took time.Duration) {
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 2)
			if cfg.Check.Interval > 0 {
				cfg.Check.Path, cfg.Check.Timeout, cfg.Check.Window, cfg.Check.Threshold = "/up", time.Second, 1, 1
			}
			cfg.Ejection.Disabled = true
			g := w.group(t, cfg)
			synctest.Wait()
			for _, name := range dead {
				w.node(string(name)).set("stall")
			}
			start := time.Now()
			got := ask(t, g, q, &Choice{Prefer: []int{0}})
			if waited := time.Since(start); got != want || waited > took || waited < took/2 {
				t.Errorf("got %s after %s, want %s after about %s", got, waited, want, took)
			}
		})
	}
	checked := Config{Check: Check{Interval: 10 * time.Second}}
	once := checked
	once.Retry.Attempts = 1
	const head = time.Minute // the transport's own time limit
	f("another answers", get(), checked, "a", "b", 12*time.Second)
	f("no checks", get(), Config{}, "a", "b", head)
	f("a write is executed once", post("x"), checked, "a", "timeout", head)
	f("one attempt", get(), once, "a", "timeout", head)
	f("no other member is healthy", get(), checked, "ab", "timeout", 2*head)
}

// TestAnswersOutliveTheirMember reads a body to its end although its member's checks fail
// meanwhile.
func TestAnswersOutliveTheirMember(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 2)
		g := w.group(t, Config{Check: Check{Path: "/up", Interval: 10 * time.Second, Timeout: time.Second, Window: 1, Threshold: 1}})
		synctest.Wait()
		in, fault := g.Do(t.Context(), get(), &Choice{Prefer: []int{0}})
		if fault != nil {
			t.Fatal(fault)
		}
		defer in.Close()
		w.node("a").set("stall")
		time.Sleep(20 * time.Second)
		if states(g) != "du" {
			t.Fatalf("got states %s, want du", states(g))
		}
		if body, err := io.ReadAll(in); string(body) != "a" || err != nil {
			t.Errorf("got body %q, error %v; want \"a\"", body, err)
		}
	})
}
