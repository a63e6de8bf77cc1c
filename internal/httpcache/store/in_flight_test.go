package store

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kasoku/kasoku/internal/purge"
)

// wantInFlight fails unless this many bytes are in flight, and taken out of the space.
func wantInFlight(t *testing.T, s *Store, want int64) {
	t.Helper()
	synctest.Wait()
	if st, u := s.Stats(), s.space.Usage(); st.InFlight != want || int64(u.Reserved) < want || int64(u.Reserved) >= want+3*inFlightStep || want == 0 && u.Reserved != 0 {
		t.Fatalf("%d bytes are in flight, %d reserved; want %d", st.InFlight, u.Reserved, want)
	}
}

// wantPace fails unless the client has to read that many bytes a second.
func wantPace(t *testing.T, l interface{ Pace() int64 }, want int64) {
	t.Helper()
	if got := l.Pace(); got != want {
		t.Fatalf("the pace is %d bytes a second, want %d", got, want)
	}
}

// A stored body counts in the space. One that is removed while it is sent is taken out of
// the space until its last sender returns it.
func TestInFlightAfterRemoval(t *testing.T) {
	const length = 1 << 20
	body := strings.Repeat("x", length)
	f := func(leave func(t *testing.T, s *Store, o *Object)) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s := open(t, Limits{})
			o := fill(t, s, get(url), body)
			weight := o.Body.mem.Load().weight()
			_, a, _ := o.Body.Acquire()
			b := o.Body.mem.Load().Hold()
			wantInFlight(t, s, 0)
			leave(t, s, o)
			wantInFlight(t, s, weight)
			a.Return()
			wantInFlight(t, s, weight)
			b.Return()
			wantInFlight(t, s, 0)
			if b := o.Body.mem.Load().Hold(); b != nil { // a request that found it before it was removed
				wantInFlight(t, s, weight)
				b.Return()
			}
			wantInFlight(t, s, 0)
		})
	}
	f(func(t *testing.T, s *Store, o *Object) { s.Drop(get(url).Key, o) })
	f(func(t *testing.T, s *Store, o *Object) {
		s.Purge(context.Background(), Purge{Selector: purge.By(purge.Prefix, "/")})
		s.Find(get(url))
	})
	f(func(t *testing.T, s *Store, o *Object) {
		s.Update(get(url).Key, o, head(get(url), "X", "1"))
		s.Drop(get(url).Key, s.Find(get(url)).Object)
	})
	f(func(t *testing.T, s *Store, o *Object) {
		put(t, s, get(url), head(get(url)), "other")
	})
	f(func(t *testing.T, s *Store, o *Object) { // evicted
		s.space.Reserve(64 << 20)
		s.space.Reserve(-64 << 20)
	})
}

// A new head, another variant and an update leave a body where it is.
func TestNotInFlightWhileStored(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		o := fill(t, s, get(url), strings.Repeat("x", 1<<20), "Vary", "X")
		m := o.Body.mem.Load().Hold()
		fill(t, s, get(url, "X", "1"), "another variant", "Vary", "X")
		s.Update(get(url).Key, o, head(get(url), "Vary", "X", "Y", "1"))
		wantInFlight(t, s, 0)
		m.Return()
		wantInFlight(t, s, 0)
	})
}

// A body that moves to pages while it is sent from the heap is counted twice until the end.
func TestInFlightDuringMove(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // nothing moves
	}
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		o := fill(t, s, get(url), strings.Repeat("x", 1<<20))
		_, heap, _ := o.Body.Acquire()
		_, paged, _ := o.Body.Acquire()
		if heap == paged {
			t.Fatal("the body has not moved")
		}
		wantInFlight(t, s, heap.weight())
		s.Drop(get(url).Key, o)
		wantInFlight(t, s, heap.weight()+paged.weight())
		heap.Return()
		wantInFlight(t, s, paged.weight())
		paged.Return()
		wantInFlight(t, s, 0)
	})
}

// While more than MaxInFlight is in flight, the clients of these bodies must read them within
// a minute. Clients of stored bodies have no limit.
func TestPace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{MaxInFlight: 4 << 20})
		var held []*Memory
		for _, url := range []string{"http://h/1", "http://h/2", "http://h/3", "http://h/stored"} {
			o := fill(t, s, get(url), strings.Repeat("x", 1<<20))
			m := o.Body.mem.Load().Hold()
			if url != "http://h/stored" {
				s.Drop(get(url).Key, o)
			}
			held = append(held, m)
		}
		for _, m := range held {
			wantPace(t, m, 0)
		}
		var none *Memory
		wantPace(t, none, 0)
		s.SetLimits(Limits{MaxInFlight: 3 << 20})
		for _, m := range held[:3] {
			wantPace(t, m, m.weight()/DrainSeconds)
		}
		wantPace(t, held[3], 0)
		held[0].Return()
		wantPace(t, held[1], 0)
		for _, m := range held[1:] {
			m.Return()
		}
	})
}

// The reserve shrinks two steps late, except at the end.
func TestTargetReserve(t *testing.T) {
	f := func(bytes, taken, to int64) {
		t.Helper()
		if got := targetReserve(bytes, taken*inFlightStep); got != to*inFlightStep {
			t.Errorf("%d bytes with %d steps reserved: got %d steps, want %d", bytes, taken, got/inFlightStep, to)
		}
	}
	f(0, 0, 0)
	f(-1, 0, 0)
	f(1, 0, 1)
	f(inFlightStep, 0, 1)
	f(inFlightStep+1, 1, 2)
	f(inFlightStep, 2, 2)
	f(1, 2, 2)
	f(1, 3, 1)
	f(0, 1, 0)
	f(5*inFlightStep+1, 8, 6)
}

// A body that flights and clients hold is counted once in the budget, until the last of them
// returns it.
func TestBudgetCountsBodies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		fill(t, s, get(url), strings.Repeat("x", 1<<20))
		wantInFlight(t, s, 0)
		if n := s.inFlight.budget.Stats().Held; n != 0 {
			t.Errorf("%d bytes are held while the body is stored, want 0", n)
		}
		o := s.Find(get(url)).Object
		_, m, _ := o.Body.Acquire()
		s.Drop(get(url).Key, o)
		if n := s.inFlight.budget.Stats().Held; n != m.weight() {
			t.Errorf("%d bytes are held of a removed body, want %d", n, m.weight())
		}
		m.Return()
		if n := s.inFlight.budget.Stats().Held; n != 0 {
			t.Errorf("%d bytes are held after the return, want 0", n)
		}
	})
}
