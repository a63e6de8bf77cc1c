//go:build !kasokubroken

package cache

import (
	"testing"
	"time"
)

func TestDerive(t *testing.T) {
	f := func(name string, between func(c *Cache, s *Space), want bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				base := value("payload")
				e, stored := s.Store(c.Note(tags("item x", "table")...), []byte("i"), &base)
				if !stored || !s.Derive(e, []byte("d"), []byte("form")) {
					t.Fatal("not stored")
				}
				between(c, s)
				e, found := s.Peek([]byte("i"), c.Now())
				if found != Fresh {
					if want {
						t.Fatal("the entry is gone")
					}
					if d, found := s.Peek([]byte("d"), c.Now()); found == Fresh {
						t.Fatalf("the form %s outlives its entry", d.Payload())
					}
					return
				}
				d := s.Derived(e, []byte("d"))
				if (d != nil) != want {
					t.Fatalf("found: %t", d != nil)
				}
				if want && (string(d.Payload()) != "form" || d.TTL(0) != e.TTL(0)) {
					t.Errorf("%s for %v", d.Payload(), d.TTL(0))
				}
			})
		})
	}
	f("at once", func(*Cache, *Space) {}, true)
	f("another key", func(_ *Cache, s *Space) { s.Drop([]byte("d"), s.Derived(peeked(s), []byte("d"))) }, false)
	f("written", func(c *Cache, _ *Space) { c.Begin(tags("item x"), nil).Commit(Change{}) }, false)
	f("purged", func(c *Cache, _ *Space) { c.Apply(Change{Cause: ByPurge, Tags: tags("table")}) }, false)
	f("replaced", func(c *Cache, s *Space) {
		pass(time.Millisecond)
		other := value("newer")
		s.Store(c.Note(tags("item x", "table")...), []byte("i"), &other)
	}, false)
	f("over", func(*Cache, *Space) { pass(time.Hour * 24 * 365 * 60) }, false)
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		base := value("payload")
		e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
		c.Apply(Change{Tags: tags("item x")})
		if s.Derive(e, []byte("d"), []byte("form")) {
			t.Error("derived of what is no longer good")
		}
	})
}

func peeked(s *Space) *Entry {
	e, _ := s.Peek([]byte("i"), s.cache.Now())
	return e
}

func TestDerivedAllocs(t *testing.T) {
	c, s := open(t, Config{})
	base := value("payload")
	e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	key := []byte("d")
	s.Derive(e, key, []byte("form"))
	wantAllocs(t, "derived", 0, func() {
		if s.Derived(e, key) == nil {
			t.Fatal("not found")
		}
	})
}
