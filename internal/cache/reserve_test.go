//go:build !kasokubroken

package cache

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Reserved memory is taken from entries. Reserving more than there is leaves none, and all
// of it can be returned.
func TestReserve(t *testing.T) {
	const mb = 1 << 20
	bubble(t, func(t *testing.T, c *Cache, _ *Space) {
		s := space(t, c, 8*mb)
		whole := c.Stats().Capacity
		want := func(capacity, reserved uint64) {
			t.Helper()
			if u := s.Usage(); u.Capacity != capacity || u.Reserved != reserved || u.Memory != 8*mb || u.Bytes > capacity {
				t.Fatalf("%+v; want a capacity of %d with %d reserved", u, capacity, reserved)
			}
		}
		fill := func(found Found) {
			t.Helper()
			for i := range 12 {
				s.Store(c.Note(), fmt.Append(nil, i), &Filling{Payload: make([]byte, mb), TTL: time.Hour})
			}
			s.Store(c.Note(), []byte("x"), &Filling{Payload: []byte("1"), TTL: time.Hour})
			synctest.Wait()
			s.Usage() // forces the eviction
			if _, got, _ := s.Lookup([]byte("x"), c.Now()); got != found {
				t.Fatalf("state of the entry stored last: got %d, want %d", got, found)
			}
		}
		fill(Fresh)
		want(8*mb, 0)
		s.Reserve(3 * mb)
		want(5*mb, 3*mb)
		s.Reserve(20 * mb)
		want(0, 23*mb)
		fill(Absent)
		want(0, 23*mb)
		s.Reserve(-16 * mb)
		want(1*mb, 7*mb)
		s.Reserve(-7 * mb)
		fill(Fresh)
		want(8*mb, 0)
		s.Reserve(9 * mb)
		s.Close()
		s.Reserve(-9 * mb)
		if got := c.Stats().Capacity; got != whole+8*mb {
			t.Errorf("after its end: got %d bytes, want %d", got, whole+8*mb)
		}
	})
}

// Held has the entries of all stores and what is in flight.
func TestHeld(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, shared *Space) {
		const inFlight = 50 << 10
		want := int64(inFlight)
		for _, s := range []*Space{shared, space(t, c, 1<<20)} {
			s.Store(c.Note(), []byte("x"), &Filling{Payload: make([]byte, 100<<10), TTL: time.Hour})
			synctest.Wait()
			want += int64(s.Usage().Bytes)
		}
		c.Budget().Add(inFlight)
		if got := c.Held(); got != want || got < inFlight+200<<10 {
			t.Errorf("got %d bytes, want %d", got, want)
		}
		c.Budget().Add(-inFlight)
	})
}

// Storing a large entry evicts others at once, also if no other goroutine can run.
func TestLargeEntriesEvictAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		const entries = 40
		size := int64(s.Usage().Capacity / 4)
		l := &removalCounter{}
		for i := range entries {
			s.Store(c.Note(), fmt.Append(nil, i), &Filling{Value: l, Weight: size, TTL: time.Hour})
		}
		if left := entries - l.calls.Load(); left > 4 {
			t.Errorf("%d entries of a quarter of the capacity are stored", left)
		}
		for i := range entries {
			s.storeAbsent(c.Note(), fmt.Append(nil, "warmed", i), &Filling{Value: l, Weight: size, TTL: time.Hour})
		}
		if left := 2*entries - l.calls.Load(); left > 4 {
			t.Errorf("%d such entries are stored after they were warmed", left)
		}
	})
}

// removalCounter counts the calls of Removed.
type removalCounter struct{ calls atomic.Int64 }

func (l *removalCounter) Removed() { l.calls.Add(1) }

// Removed is called once when the entry is no longer stored, whatever the cause.
func TestRemovalListener(t *testing.T) {
	f := func(name string, remove func(c *Cache, s *Space, e *Entry)) {
		t.Helper()
		bubble(t, func(t *testing.T, c *Cache, s *Space) {
			l := &removalCounter{}
			e, stored := s.Store(c.Note(), []byte("x"), &Filling{Value: l, Weight: 1 << 10, TTL: time.Hour})
			synctest.Wait()
			if !stored || l.calls.Load() != 0 {
				t.Fatalf("%s: got %d calls while the entry is stored (%v), want none", name, l.calls.Load(), stored)
			}
			remove(c, s, e)
			synctest.Wait()
			s.Usage()
			if n := l.calls.Load(); n != 1 {
				t.Errorf("%s: got %d calls, want 1", name, n)
			}
		})
	}
	f("dropped", func(_ *Cache, s *Space, e *Entry) { s.Drop([]byte("x"), e) })
	f("replaced", func(c *Cache, s *Space, _ *Entry) {
		s.Store(c.Note(), []byte("x"), &Filling{Value: &removalCounter{}, TTL: time.Hour})
	})
	f("replaced by one without", func(c *Cache, s *Space, _ *Entry) { s.Store(c.Note(), []byte("x"), &Filling{TTL: time.Hour}) })
	f("evicted", func(c *Cache, s *Space, _ *Entry) { s.Reserve(int64(s.Usage().Memory)) })
	f("closed", func(c *Cache, _ *Space, _ *Entry) { c.Close() })
}
