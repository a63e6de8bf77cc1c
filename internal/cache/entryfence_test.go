//go:build !kasokubroken

package cache

import (
	"math"
	"testing"
	"time"
)

// fenceOf stores an entry and returns what it was stored under.
func fenceOf(t *testing.T, s *Space, key string, names ...string) Fence {
	t.Helper()
	keep(t, s, key, "1", names...)
	e, _ := s.Peek([]byte(key), s.cache.Now())
	return e.Fence()
}

// TestHolds checks what ends the validity of an entry.
func TestHolds(t *testing.T) {
	f := func(name string, since time.Duration, after func(c *Cache), want bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				pass(time.Second)
				fence := fenceOf(t, s, "x", "item x", "table")
				served := c.Now() + int64(since)
				pass(time.Second)
				after(c)
				if got := c.Holds(&fence, served); got != want {
					t.Errorf("got %v, want %v: %+v", got, want, c.Moves(&fence))
				}
			})
		})
	}
	f("nothing has happened", 0, func(*Cache) {}, true)
	f("another tag was written", 0, func(c *Cache) { commit(begin(c, tags("item y"), nil), Change{}) }, true)
	f("a write is in flight", 0, func(c *Cache) { begin(c, tags("item x"), nil) }, false)
	f("a write has ended", 0, func(c *Cache) { commit(begin(c, tags("item x"), nil), Change{}) }, false)
	f("another member writes", 0, func(c *Cache) { c.Hold(tags("table")) }, false)
	f("purged", 0, func(c *Cache) { c.Apply(Change{Tags: tags("table")}) }, false)
	f("the lease has ended", 0, func(c *Cache) { c.SetLease(c.Now()) }, false)
	f("the lease was renewed", 0, func(c *Cache) { c.SetLease(0); c.SetLease(math.MaxInt64) }, true)
	f("emptied, with a new lease", 0, func(c *Cache) { c.SetLease(0); c.Empty(); c.SetLease(math.MaxInt64) }, false)
	f("emptied before it was served", 2*time.Second, func(c *Cache) { c.Empty() }, true)
}

// TestMoves checks the state of the tags of a fence.
func TestMoves(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		fence := fenceOf(t, s, "x", "item x", "table")
		if again := fenceOf(t, s, "z", "item x", "table"); again != fence {
			t.Errorf("entries under the same generations have other fences: %v, %v", fence, again)
		}
		pass(time.Second)
		written := c.Now()
		begin(c, tags("item x"), nil)
		pass(time.Second)
		m := c.Moves(&fence)
		if len(m) != 2 || m[0].Writers != 1 || m[0].At != written || m[0].Now <= m[0].Then || m[1].Now != m[1].Then || m[1].Writers != 0 {
			t.Errorf("got %+v after a write of the first tag at %d", m, written)
		}
	})
}
