//go:build !kasokubroken

package cache

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
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
	last, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	w := c.Begin(tags("item x"), nil)
	if s.Attach(last, "form", 4) || last.Value() != nil {
		t.Error("attached to what is being written")
	}
	w.Commit(Change{})
	if s.Attach(last, "form", 4) {
		t.Error("attached to what was written")
	}
	current, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	if space(t, c, 0).Attach(current, "form", 4) {
		t.Error("attached in another space")
	}
}

// A value that leaves with its entry is told so, once, as it is of an entry that was
// stored with it.
func TestAttachLeaves(t *testing.T) {
	c, s := open(t, Config{})
	base := value("payload")
	e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	var left leaves
	if !s.Attach(e, &left, 4) || left != 0 {
		t.Fatalf("told %d times", left)
	}
	s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	if left != 1 {
		t.Errorf("told %d times", left)
	}
}

// leaves counts how often it is told.
type leaves int

func (l *leaves) Left() { *l++ }

// TestAttachConcurrently has readers attach what they have made of a payload, again and
// again, while writers replace it: whoever finds a value finds the one of that payload, and
// never one from before a write that had ended.
func TestAttachConcurrently(t *testing.T) {
	c, s := open(t, Config{Settle: 1})
	key, all := []byte("i"), tags("item x", "table")
	var written atomic.Uint64 // the number of the last write that has ended
	var attached atomic.Int64
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	writers.Go(func() {
		for n := uint64(1); n <= 1000; n++ {
			before := attached.Load()
			w := c.Begin(all, nil)
			w.Commit(Change{Puts: []Put{{Space: s, Key: key, Tags: all, Filling: value(fmt.Sprint(n))}}})
			written.Store(n)
			for n%2 == 0 && attached.Load() == before {
				runtime.Gosched() // every second one is used
			}
		}
	})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				runtime.Gosched()
				least := written.Load()
				e, found, _ := s.Lookup(key, c.Now())
				if found != Fresh {
					continue
				}
				payload := string(e.Payload())
				if n, err := strconv.ParseUint(payload, 10, 64); err != nil || n < least {
					t.Errorf("%s after write %d", payload, least)
					return
				}
				switch v := e.Value(); {
				case v == nil:
					if s.Attach(e, payload, int64(len(payload))) {
						attached.Add(1)
					}
				case v != payload:
					t.Errorf("%v beside %s", v, payload)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
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
