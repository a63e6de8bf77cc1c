//go:build go1.25

package fluent

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffBounds(t *testing.T) {
	b := backoff{200 * time.Millisecond, 30 * time.Second}
	f := func(failures int, want time.Duration) {
		t.Helper()
		if got := b.bound(failures); got != want {
			t.Errorf("bound(%d) = %v; want %v", failures, got, want)
		}
	}
	f(1, 200*time.Millisecond)
	f(2, 400*time.Millisecond)
	f(3, 800*time.Millisecond)
	f(8, 25600*time.Millisecond)
	f(9, 30*time.Second)
	f(1000000, 30*time.Second)
}

func TestBackoffOfAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.Int64Range(1, 1<<62).Draw(t, "base")
		limit := rapid.Int64Range(1, 1<<62).Draw(t, "max")
		n := rapid.IntRange(1, 200).Draw(t, "failures")
		b := backoff{time.Duration(base), time.Duration(limit)}
		bound, next := b.bound(n), b.bound(n+1)
		if bound <= 0 || bound > b.max || next < bound {
			t.Fatalf("bounds %v, %v", bound, next)
		}
		if w := b.wait(n); w < 0 || w > bound {
			t.Fatalf("wait %v above %v", w, bound)
		}
	})
}

// Full jitter draws from the whole range: values below a quarter and above three quarters
// occur. None in 200 draws has a probability of 1e-25.
func TestBackoffSpreads(t *testing.T) {
	b := backoff{time.Second, time.Second}
	low, high := 0, 0
	for range 200 {
		switch w := b.wait(1); {
		case w < time.Second/4:
			low++
		case w > 3*time.Second/4:
			high++
		}
	}
	if low == 0 || high == 0 {
		t.Errorf("%d low and %d high draws of 200", low, high)
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := breaker{threshold: 3, backoff: backoff{time.Second, time.Minute}}
		state := func(want State) {
			t.Helper()
			if got := b.now(); got != want {
				t.Fatalf("state %v; want %v", got, want)
			}
		}
		fail := func(want bool) {
			t.Helper()
			if got := b.failure(); got != want {
				t.Fatalf("tripped %v; want %v", got, want)
			}
		}
		fail(false)
		fail(false)
		state(Closed)
		if b.success() { // ends the series of failures
			t.Error("success reset a breaker that was not open")
		}
		fail(false)
		fail(false)
		state(Closed)
		fail(true)
		state(Open)
		if w := b.wait(); w > 4*time.Second {
			t.Errorf("wait of %v after three failures, want at most 4s", w)
		}
		time.Sleep(4 * time.Second)
		if w := b.wait(); w != 0 {
			t.Errorf("wait of %v after the first one, want 0", w)
		}
		state(Open)
		b.probe()
		state(HalfOpen)
		fail(false) // it has tripped already
		state(Open)
		b.probe()
		if !b.success() {
			t.Error("success of the probe did not reset")
		}
		state(Closed)
		b.probe()
		state(Closed)
		fail(false)
		state(Closed)
	})
}

func TestStateStrings(t *testing.T) {
	f := func(s State, want string) {
		t.Helper()
		if s.String() != want {
			t.Errorf("%q; want %q", s, want)
		}
	}
	f(Closed, "closed")
	f(Open, "open")
	f(HalfOpen, "half-open")
	f(State(7), "State(7)")
}
