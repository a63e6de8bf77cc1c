//go:build !kasokubroken

package cache

import "testing"

func TestSupersede(t *testing.T) {
	f := func(name string, between func(c *Cache), want bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				before := c.Note(tags("item x")...)
				between(c)
				next, ok := c.Supersede(before)
				if ok != want {
					t.Fatalf("superseded: got %t", ok)
				}
				if ok && (c.Current(&before) || !c.Current(&next)) {
					t.Fatal("the superseded stamp is still current, or the new one is not")
				}
				if _, again := c.Supersede(before); again {
					t.Fatal("superseded twice")
				}
			})
		})
	}
	f("quiet", func(*Cache) {}, true)
	f("another tag written", func(c *Cache) { commit(begin(c, tags("item y"), nil), Change{}) }, true)
	f("written", func(c *Cache) { commit(begin(c, tags("item x"), nil), Change{}) }, false)
	f("write in flight", func(c *Cache) { begin(c, tags("item x"), nil) }, false)
	f("purged", func(c *Cache) { c.Apply(Change{Cause: ByPurge, Tags: tags("item x")}) }, false)
}

func TestSupersedeRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		if _, ok := c.Supersede(c.Note(tags("item x", "item y")...)); ok {
			t.Error("a stamp of two tags was superseded")
		}
		begin(c, tags("item x"), nil)
		if _, ok := c.Supersede(c.Note(tags("item x")...)); ok {
			t.Error("a stamp noted during a write was superseded")
		}
	})
}
