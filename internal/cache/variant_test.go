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
				if !stored || e.Variant() != nil || !s.Attach(e, []byte("variant")) {
					t.Fatal("not attached")
				}
				between(c, s)
				got, found := s.Peek([]byte("i"), c.Now())
				if found != Fresh {
					if want {
						t.Fatal("the entry is not fresh")
					}
					return
				}
				if (string(got.Variant()) == "variant") != want {
					t.Fatalf("got variant %q", got.Variant())
				}
				if want && (string(got.Payload()) != "payload" || string(got.Key()) != "i" || got.Kind() != e.Kind() || got.Aux() != e.Aux() || got.TTL(0) != e.TTL(0)) {
					t.Errorf("got %s=%s, fresh for %v", got.Key(), got.Payload(), got.TTL(0))
				}
			})
		})
	}
	f("at once", func(*Cache, *Space) {}, true)
	f("written", func(c *Cache, _ *Space) { commit(begin(c, tags("item x"), nil), Change{}) }, false)
	f("purged", func(c *Cache, _ *Space) { c.Apply(Change{Cause: ByPurge, Tags: tags("table")}) }, false)
	f("replaced", func(c *Cache, s *Space) {
		other := value("newer")
		s.Store(c.Note(tags("item x", "table")...), []byte("i"), &other)
	}, false)
	f("over", func(*Cache, *Space) { pass(time.Hour * 24 * 365 * 60) }, false)
}

// An entry that is no longer stored, or has a variant, accepts none.
func TestAttachRefused(t *testing.T) {
	c, s := open(t, Config{})
	base := value("payload")
	e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	other := value("newer")
	newer, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &other)
	if s.Attach(e, []byte("variant")) {
		t.Error("attached to a replaced entry")
	}
	if !s.Attach(newer, []byte("variant")) || s.Attach(newer, []byte("another")) {
		t.Error("a variant was not attached, or another one was attached too")
	}
	now, _ := s.Peek([]byte("i"), c.Now())
	if string(now.Variant()) != "variant" || s.Attach(now, []byte("another")) {
		t.Errorf("got variant %q", now.Variant())
	}
	s.Drop([]byte("i"), now)
	if s.Attach(e, []byte("variant")) || s.Usage().Entries != 0 {
		t.Error("attached to a dropped entry")
	}
	last, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	w := begin(c, tags("item x"), nil)
	if s.Attach(last, []byte("variant")) || last.Variant() != nil {
		t.Error("attached during a write")
	}
	commit(w, Change{})
	if s.Attach(last, []byte("variant")) {
		t.Error("attached after a write")
	}
	current, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	if space(t, c, 0).Attach(current, []byte("variant")) {
		t.Error("attached by another space")
	}
}

// An entry with a value accepts no variant, and an empty variant is not stored.
func TestAttachWithValueOrEmpty(t *testing.T) {
	c, s := open(t, Config{})
	base := value("payload")
	e, _ := s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	if s.Attach(e, nil) {
		t.Error("an empty variant was attached")
	}
	base.Value = "value"
	e, _ = s.Store(c.Note(tags("item x")...), []byte("i"), &base)
	if s.Attach(e, []byte("variant")) || e.Variant() != nil || e.Value() != "value" || string(e.Payload()) != "payload" {
		t.Errorf("got variant %q of an entry with value %v, want none", e.Variant(), e.Value())
	}
}

// TestAttachConcurrently attaches variants of a payload in many readers while writers
// replace it: a reader finds only the variant of its payload, and never one from before a
// finished write.
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
			w := begin(c, all, nil)
			commit(w, Change{Puts: []Put{{Space: s, Key: key, Tags: all, Filling: value(fmt.Sprint(n))}}})
			written.Store(n)
			for n%2 == 0 && attached.Load() == before {
				runtime.Gosched() // half of the payloads get a variant
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
				oldest := written.Load()
				e, found, _ := s.Lookup(key, c.Now())
				if found != Fresh {
					continue
				}
				payload := string(e.Payload())
				if n, err := strconv.ParseUint(payload, 10, 64); err != nil || n < oldest {
					t.Errorf("got payload %s after write %d", payload, oldest)
					return
				}
				switch variant := e.Variant(); {
				case variant == nil:
					if s.Attach(e, []byte("variant of "+payload)) {
						attached.Add(1)
					}
				case string(variant) != "variant of "+payload:
					t.Errorf("got variant %q of payload %s", variant, payload)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}

// A variant counts towards the weight of its entry, whose count of hits continues.
func TestAttachCountsWeight(t *testing.T) {
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
		variant := make([]byte, 1000)
		s.Attach(e, variant)
		for range 2 * hotHits {
			hit()
		}
		if due != 1 {
			t.Errorf("got %d refreshes, want 1", due)
		}
		now, _ := s.Peek([]byte("i"), c.Now())
		if got := now.weight(); got < before+1000+uint32(carrierOverhead) || got > before+1000+1000/16+uint32(carrierOverhead)+1 {
			t.Errorf("got weight %d, and %d before the variant", got, before)
		}
	})
}
