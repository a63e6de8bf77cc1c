package origin

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// allowing returns a guard that allows its first n calls.
func allowing(n int32) (guard func() bool, calls *atomic.Int32) {
	calls = new(atomic.Int32)
	return func() bool { return calls.Add(1) <= n }, calls
}

// TestGuardOfRequest checks that a guard is called before and after each attempt, that nothing is
// sent if it forbids it before, and that the outcome is unknown if it does so after.
func TestGuardOfRequest(t *testing.T) {
	f := func(name string, allowed int32, script []step, kind FaultKind, reached bool, attempts, executed int, calls int32) {
		bubble(t, name, func(t *testing.T) {
			s := &faulty{script: script}
			c := s.client(t, Config{})
			q := post("b", false)
			guard, called := allowing(allowed)
			q.Guard = guard
			resp, err := c.Do(t.Context(), q)
			if kind == kinds {
				if err != nil || resp.Status != 200 {
					t.Errorf("got %v, %v; want an answer", resp, err)
				}
			} else {
				wantFault(t, err, kind, reached, attempts)
			}
			s.closeIdle()
			s.serving.Wait()
			if s.count() != executed || called.Load() != calls {
				t.Errorf("executed %d times, %d calls; want %d and %d", s.count(), called.Load(), executed, calls)
			}
		})
	}
	ok, throttled := reply(200, "{}"), reply(400, "throttled")
	f("allowed", 9, []step{ok}, kinds, false, 0, 1, 2)
	f("forbidden before", 0, []step{ok}, Withheld, false, 1, 0, 1)
	f("forbidden after", 1, []step{ok}, Withheld, true, 1, 1, 2)
	f("each attempt", 9, []step{throttled, ok}, kinds, false, 0, 2, 4)
	f("second attempt forbidden", 2, []step{throttled, ok}, Withheld, false, 2, 1, 3)
	f("second attempt forbidden after", 3, []step{throttled, ok}, Withheld, true, 2, 2, 4)
	f("idle connection ended", 9, []step{resetUnread, ok}, Reset, true, 1, 0, 2)
}

// A guarded request that may be repeated is not after its guard has forbidden it.
func TestGuardEndsAttempts(t *testing.T) {
	bubble(t, "repeatable", func(t *testing.T) {
		s := &faulty{script: []step{reply(200, "{}")}}
		c := s.client(t, Config{})
		q := post("b", true)
		q.Guard, _ = allowing(1)
		_, err := c.Do(t.Context(), q)
		wantFault(t, err, Withheld, true, 1)
		if len(c.pool.idle) != 0 {
			t.Error("the connection is kept, and the answer to the request will arrive on it")
		}
	})
}

// TestGuardOfOutbound is TestGuardOfRequest for a Transport, with and without a body.
func TestGuardOfOutbound(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 100<<10)
	bodies := map[string]struct {
		q      func() *Outbound
		pieces int32
	}{
		"none":    {func() *Outbound { return &Outbound{} }, 0},
		"content": {func() *Outbound { return &Outbound{Content: []byte("b")} }, 0},
		"large":   {func() *Outbound { return &Outbound{Content: large} }, 4},
		"stream":  {func() *Outbound { return &Outbound{Body: strings.NewReader("b"), Length: 1} }, 1},
		"chunked": {func() *Outbound { return &Outbound{Body: strings.NewReader("b"), Length: -1} }, 2},
	}
	// It is called once more if the answer arrives before the sender's last call.
	outside := func(calls, want int32) bool { return calls != want && calls != want+1 }
	for name, body := range bodies {
		want := 2 + body.pieces // before the head, before each piece, and at the end
		for allowed := range want + 2 {
			if allowed == want && body.pieces > 0 {
				continue // the result depends on whether there is one more call
			}
			bubble(t, name, func(t *testing.T) {
				s := &faulty{script: []step{delayed(time.Second, reply(200, "{}"))}}
				tr := s.transport(t, TransportConfig{})
				q := body.q()
				q.Method, q.Target = []byte("POST"), []byte("/")
				guard, calls := allowing(allowed)
				q.Guard = guard
				in, fault := tr.Exchange(t.Context(), q)
				switch {
				case allowed >= want:
					if fault != nil {
						t.Fatalf("allowed: %v", fault)
					}
					if b, err := io.ReadAll(in); err != nil || string(b) != "{}" || outside(calls.Load(), want) {
						t.Errorf("got %q, %v after %d calls, want %d", b, err, calls.Load(), want)
					}
					in.Close()
				default:
					wantKind(t, fault, Withheld, allowed > 0)
					if fault.Attempts != 1 || outside(calls.Load(), allowed+1) || len(tr.pool.idle) != 0 {
						t.Errorf("call %d forbids: %d attempts, %d calls, %d connections kept", allowed+1, fault.Attempts, calls.Load(), len(tr.pool.idle))
					}
				}
			})
		}
	}
}
