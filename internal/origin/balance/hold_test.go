package balance

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// heldMemory is a Memory with a limit that counts the held bytes.
type heldMemory struct{ held, peak, limit atomic.Int64 }

func (r *heldMemory) Take(n int64) bool {
	if r.held.Load()+n > r.limit.Load() {
		return false
	}
	r.peak.Store(max(r.peak.Load(), r.held.Add(n)))
	return true
}

func (r *heldMemory) Release(n int64) { r.held.Add(-n) }

// TestHold checks that a request is retried at another member if the answer is truncated while
// it is held, and that its memory is released.
func TestHold(t *testing.T) {
	f := func(name, first string, q *origin.Outbound, h origin.Hold, limit int64, want string, took time.Duration) {
		t.Helper()
		bubble(t, name, func(t *testing.T) {
			w := newNetwork(t, 2)
			w.node("a").set(first)
			r := &heldMemory{}
			r.limit.Store(limit)
			h.Memory = r
			start := time.Now()
			in, fault := w.group(t, Config{}).Do(t.Context(), q, &Choice{Prefer: []int{0}, Hold: h})
			if fault != nil {
				t.Fatal(fault)
			}
			if got := time.Since(start); got != took {
				t.Errorf("answered after %s, want %s", got, took)
			}
			body, err := io.ReadAll(in)
			got := string(body)
			if err != nil {
				got += " cut"
			}
			if len(got) > 8 {
				got = got[:4] + strings.Repeat("+", len(got)/1000)
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			in.Close()
			synctest.Wait()
			if n := r.held.Load(); n != 0 {
				t.Errorf("%d bytes are still held", n)
			}
		})
	}
	second := origin.Hold{Bytes: 1000, Time: time.Second}
	f("cut", "cut", get(), second, 1<<20, "b", 0)
	f("cut, not held", "cut", get(), origin.Hold{}, 1<<20, "hel cut", 0)
	f("cut, no room", "cut", get(), second, 0, "hel cut", 0)
	f("cut, longer than what is held", "cut", get(), origin.Hold{Bytes: 4, Time: time.Second}, 1<<20, "hel cut", 0)
	f("cut, in chunks", "chunks 0s 500 cut", get(), second, 1<<20, "b", 0)
	f("cut, of unknown length, too late", "chunks 0s 3000 cut", get(), second, 1<<20, "xxxx+++", 0)
	f("cut, a write", "cut", post("x"), second, 1<<20, "hel cut", 0)
	f("whole", "chunks 0s 3000", get(), origin.Hold{Bytes: 1 << 20, Time: time.Second}, 1<<20, "xxxx+++", 0)
	f("whole, longer than what is held", "chunks 0s 3000", get(), second, 1<<20, "xxxx+++", 0)
	f("slow", "chunks 3s 3000", get(), origin.Hold{Bytes: 1 << 20, Time: time.Second}, 1<<20, "xxxx+++", time.Second)
	f("slow, and cut", "chunks 3s 3000 cut", get(), origin.Hold{Bytes: 1 << 20, Time: time.Second}, 1<<20, "xxxx+++", time.Second)
}

// TestHoldReleased checks that closing an answer releases the memory of its unread bytes.
func TestHoldReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newNetwork(t, 1)
		w.node("a").set("chunks 0s 3000")
		r := &heldMemory{}
		r.limit.Store(1 << 20)
		in, fault := w.group(t, Config{}).Do(t.Context(), get(), &Choice{Hold: origin.Hold{Bytes: 1 << 20, Time: time.Second, Memory: r}})
		if fault != nil {
			t.Fatal(fault)
		}
		if r.held.Load() < 3000 {
			t.Errorf("%d bytes are held, want at least 3000", r.held.Load())
		}
		if _, err := in.Read(make([]byte, 10)); err != nil {
			t.Error(err)
		}
		in.Close()
		if n := r.held.Load(); n != 0 {
			t.Errorf("%d bytes are still held", n)
		}
	})
}
