//go:build !kasokubroken

package cache

import (
	"testing"
	"time"
)

func TestAttach(t *testing.T) {
	f := func(name string, between func(c *Cache, s *Space), want bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				base := value("payload")
				e, stored := s.Store(c.Note(tags("item x", "table")...), []byte("i"), &base)
				if !stored || e.Value() != nil || !s.Attach(e, "form", 4) {
					t.Fatal("not attached")
				}
				between(c, s)
				got, found := s.Peek([]byte("i"), c.Now())
				if found != Fresh {
					if want {
						t.Fatal("the entry is gone")
					}
					return
				}
				if (got.Value() == "form") != want {
					t.Fatalf("the value is %v", got.Value())
				}
				if want && (string(got.Payload()) != "payload" || string(got.Key()) != "i" || got.Kind() != e.Kind() || got.Aux() != e.Aux() || got.TTL(0) != e.TTL(0)) {
					t.Errorf("%s %s for %v", got.Key(), got.Payload(), got.TTL(0))
				}
			})
		})
	}
	f("at once", func(*Cache, *Space) {}, true)
	f("written", func(c *Cache, _ *Space) { c.Begin(tags("item x"), nil).Commit(Change{}) }, false)
	f("purged", func(c *Cache, _ *Space) { c.Apply(Change{Cause: ByPurge, Tags: tags("table")}) }, false)
	f("replaced", func(c *Cache, s *Space) {
		other := value("newer")
		s.Store(c.Note(tags("item x", "table")...), []byte("i"), &other)
	}, false)
	f("over", func(*Cache, *Space) { pass(time.Hour * 24 * 365 * 60) }, false)
}

// What is no longer stored, or has a value, gets none.
func TestAttachTooLate(t *testing.T) {
	c, s := open(t, Config{})
	base := value("payload")
	e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	other := value("newer")
	newer, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &other)
	if s.Attach(e, "form", 4) {
		t.Error("attached to what was replaced")
	}
	if !s.Attach(newer, "form", 4) || s.Attach(newer, "another", 7) {
		t.Error("a value was not attached once")
	}
	now, _ := s.Peek([]byte("i"), c.Now())
	if now.Value() != "form" || s.Attach(now, "another", 7) {
		t.Errorf("the value is %v", now.Value())
	}
	s.Drop([]byte("i"), now)
	if s.Attach(e, "form", 4) || s.Usage().Entries != 0 {
		t.Error("attached to what was dropped")
	}
}

// A value is weighed, and an entry's hits are counted on.
func TestAttachWeighs(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		base := value("payload")
		base.TTL, base.Refresh = time.Minute, 50*time.Second
		e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
		before := e.weight()
		pass(30 * time.Second)
		due := 0
		hit := func() {
			if _, _, refresh := s.Lookup([]byte("i"), c.Now()); refresh {
				due++
			}
		}
		hit()
		s.Attach(e, "form", 1000)
		for range 2 * hotHits {
			hit()
		}
		if due != 1 {
			t.Errorf("%d refreshes", due)
		}
		now, _ := s.Peek([]byte("i"), c.Now())
		if got := now.weight(); got != before+1000+uint32(carrierOverhead) {
			t.Errorf("it weighs %d, and %d before", got, before)
		}
	})
}
