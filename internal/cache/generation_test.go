//go:build !kasokubroken

package cache

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestNote(t *testing.T) {
	f := func(name string, before func(c *Cache), settled, strong bool) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				before(c)
				st := c.Note(tags("table", "item x")...)
				if st.Settled != settled || st.Strong != strong {
					t.Fatalf("settled %v, strong %v; want %v, %v", st.Settled, st.Strong, settled, strong)
				}
			})
		})
	}
	write := func(c *Cache) { commit(begin(c, tags("item x"), nil), Change{}) }
	f("quiet", func(c *Cache) {}, true, false)
	f("another tag written", func(c *Cache) { begin(c, tags("item y"), nil) }, true, false)
	f("only watched", func(c *Cache) { begin(c, nil, tags("item x")) }, true, false)
	f("write in flight", func(c *Cache) { begin(c, tags("item x"), nil) }, false, true)
	// The origin may have applied it by now, and a replica not.
	f("write in flight for longer than settle", func(c *Cache) {
		begin(c, tags("item x"), nil)
		pass(2 * time.Duration(c.settle))
	}, false, true)
	f("written", write, true, true)
	f("written long ago", func(c *Cache) {
		write(c)
		pass(time.Duration(c.settle) + time.Millisecond)
	}, true, false)
	f("written settle ago", func(c *Cache) {
		write(c)
		pass(time.Duration(c.settle))
	}, true, true)
	// Settle counts from the write's end: the origin may have applied it then.
	f("begun long ago, ended lately", func(c *Cache) {
		w := begin(c, tags("item x"), nil)
		pass(2 * time.Duration(c.settle))
		commit(w, Change{})
		pass(time.Duration(c.settle) - time.Millisecond)
	}, true, true)
	f("one of two writes has ended", func(c *Cache) {
		w := begin(c, tags("item x"), nil)
		begin(c, tags("item x"), nil)
		commit(w, Change{})
	}, false, true)
	f("purged", func(c *Cache) { c.Apply(Change{Cause: ByPurge, Tags: tags("table")}) }, true, true)
}

func TestAge(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		f := func(name string, want time.Duration) {
			t.Helper()
			st := c.Note(tags("table", "item x")...)
			// A change is as old as the millisecond after it.
			if got := c.Age(&st); got > want || got < want-time.Millisecond {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
		f("nothing was moved since the start", time.Duration(c.Now()))
		pass(time.Second)
		f("a second later", time.Duration(c.Now()))
		w := begin(c, tags("item x"), nil)
		pass(time.Second)
		commit(w, Change{})
		f("just written", 0)
		pass(3 * time.Second)
		f("written three seconds ago", 3*time.Second)
		c.Apply(Change{Tags: tags("table")})
		pass(time.Second)
		f("the latest of two", time.Second)
		begin(c, tags("item x"), nil).Unknown()
		f("in quarantine", 0)
	})
}

// Writes before the start are unknown, even for no tags.
func TestFillsAfterStartAreStrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, Config{})
		f := func(strong bool) {
			t.Helper()
			for _, names := range [][]string{nil, {"item x"}} {
				if st := c.Note(tags(names...)...); st.Strong != strong || !st.Settled {
					t.Fatalf("%v: strong %v, settled %v; want %v and settled", names, st.Strong, st.Settled, strong)
				}
			}
		}
		f(true)
		pass(time.Duration(c.settle) - 1)
		f(true)
		pass(2 * time.Millisecond)
		f(false)
	})
}

func TestCurrent(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		names := []string{"item x", "partition", "table", "account"}
		for _, name := range names {
			st := c.Note(tags(names...)...)
			if !c.Current(&st) {
				t.Fatal("a stamp is not current though nothing happened")
			}
			c.Apply(Change{Tags: tags("item y")})
			if !c.Current(&st) {
				t.Fatal("another tag made the stamp out of date")
			}
			c.Apply(Change{Tags: tags(name)})
			if c.Current(&st) {
				t.Fatalf("a stamp is current though %s has moved", name)
			}
		}
		none := c.Note()
		if !c.Current(&none) {
			t.Fatal("a stamp without tags is out of date")
		}
	})
}

// A counter never has the same generation twice: bumps count up within a millisecond, carry into
// the next one, and follow the clock.
func TestBumpGrows(t *testing.T) {
	var s slot
	last := s.gen.Load()
	f := func(floor, want uint64) {
		t.Helper()
		_, got := s.bump(floor)
		if got != want || got <= last || got != s.gen.Load() {
			t.Fatalf("bump(%#x) = %#x after %#x; want %#x", floor, got, last, want)
		}
		last = got
	}
	ms := func(n int64) uint64 { return generationAt(n * int64(time.Millisecond)) }
	f(0, 1)
	f(ms(0), 2)
	f(ms(7), ms(7))
	f(ms(7), ms(7)+1)
	f(ms(6), ms(7)+2) // another reader of the clock was faster
	s.gen.Store(ms(8) - 1)
	last = ms(8) - 1
	f(ms(7), ms(8)) // carried
	f(ms(8), ms(8)+1)
}

// A million bumps in one millisecond carry into the next one, which looks like a quarantine of a
// millisecond. That is safe, and it ends.
func TestCarriedGenerationEndsAfterAMillisecond(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		x := tags("item x")
		slot := &c.slots[c.index(x[0])]
		slot.gen.Store(generationAt(c.Now()) | (1<<sequenceBits - 1))
		if st := c.Note(x...); !st.Settled {
			t.Fatal("the last generation of this millisecond looks like a quarantine")
		}
		c.Apply(Change{Tags: x})
		if st := c.Note(x...); st.Settled || !st.Strong {
			t.Fatalf("carried: settled %v, strong %v", st.Settled, st.Strong)
		}
		pass(time.Millisecond)
		if st := c.Note(x...); !st.Settled || !st.Strong {
			t.Fatalf("a millisecond later: settled %v, strong %v", st.Settled, st.Strong)
		}
	})
}

func TestGenerationsAreRoundedUp(t *testing.T) {
	f := func(generations, want int) {
		t.Helper()
		c, _ := open(t, Config{Generations: generations})
		if len(c.slots) != want+broadSlots || int(c.mask) != want-1 {
			t.Fatalf("%d generations: %d counters, mask %#x; want %d", generations, len(c.slots), c.mask, want)
		}
	}
	f(1, 1)
	f(2, 2)
	f(3, 4)
	f(1000, 1024)
	f(1024, 1024)
}

func TestConfigErrors(t *testing.T) {
	f := func(cfg Config) {
		t.Helper()
		if c, err := New(cfg); err == nil {
			c.Close()
			t.Fatalf("New(%+v) returned no error", cfg)
		}
	}
	f(Config{Memory: -1})
	f(Config{Generations: -1})
	f(Config{Generations: 1<<30 + 1})
	f(Config{Settle: -1})
	f(Config{Quarantine: -1})
	f(Config{FillTimeout: -1})
}

// With one counter all tags are equal: the guarantees still hold, only the hit rate is lower.
func TestOneGeneration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := open(t, Config{Generations: 1})
		keep(t, s, "x", "1", "item x", "table")
		wantFound(t, s, "x", Fresh, "1")
		w := begin(c, tags("item y"), tags("table"))
		wantFound(t, s, "x", Invalidated, "")
		if n := commit(w, put(s, "y", "2", "item y", "table")); n != 1 {
			t.Fatalf("%d puts stored; want 1", n)
		}
		wantFound(t, s, "y", Fresh, "2")
	})
}

// An entry that depends on a broad tag alone survives all writes of other tags.
func TestBroadTagsShareNoCounterWithOthers(t *testing.T) {
	c, s := open(t, Config{Generations: 4})
	table, other := BroadTagOf([]byte("table")), BroadTagOf([]byte("other table"))
	f := value("1")
	s.Store(c.Note(table), []byte("x"), &f)
	for i := range 1000 {
		commit(begin(c, []Tag{TagOf(fmt.Append(nil, i))}, nil), Change{})
	}
	wantFound(t, s, "x", Fresh, "1")
	c.Apply(Change{Tags: []Tag{other, TagOf([]byte("table"))}})
	wantFound(t, s, "x", Fresh, "1")
	c.Apply(Change{Tags: []Tag{table}})
	wantFound(t, s, "x", Invalidated, "")
}
