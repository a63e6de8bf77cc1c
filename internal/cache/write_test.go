//go:build !kasokubroken

package cache

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWriteInvalidatesDependentEntries(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x", "table")
		keep(t, s, "y", "1", "item y", "table")
		w := begin(c, tags("item x"), tags("table"))
		wantFound(t, s, "x", Invalidated, "")
		wantFound(t, s, "y", Fresh, "1")
		commit(w, Change{})
		wantFound(t, s, "x", Invalidated, "")
		wantFound(t, s, "y", Fresh, "1")
	})
}

func TestCommitStoresItsPuts(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x", "partition"), tags("table"))
		if n := commit(w, put(s, "x", "2", "item x", "table")); n != 1 {
			t.Fatalf("%d puts stored; want 1", n)
		}
		wantFound(t, s, "x", Fresh, "2")
		c.Apply(Change{Cause: ByPurge, Tags: tags("table")})
		wantFound(t, s, "x", Invalidated, "")
	})
}

// A service may name the write's own tags in its Change again.
func TestCommitStoresItsPutsUnderTagsNamedTwice(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x"), nil)
		ch := put(s, "x", "2", "item x")
		ch.Tags = tags("item x", "index")
		if n := commit(w, ch); n != 1 {
			t.Fatalf("%d puts stored; want 1", n)
		}
		wantFound(t, s, "x", Fresh, "2")
	})
}

// Tags known only from the origin's answer move too: an entry filled while the write was in
// flight is unreachable once Commit has returned.
func TestCommitMovesTagsFoundInTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x"), nil)
		keep(t, s, "q", "old", "index")
		commit(w, Change{Tags: tags("index")})
		wantFound(t, s, "q", Invalidated, "")
		if st := c.Note(tags("index")...); !st.Strong {
			t.Fatal("a tag that a write moved last is not filled strongly")
		}
	})
}

func TestPutsThatAreRefused(t *testing.T) {
	f := func(name string, moved, watch []string, put ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				w := begin(c, tags(moved...), tags(watch...))
				p := Put{Space: s, Key: []byte("x"), Tags: tags(put...), Filling: value("2")}
				if n := commit(w, Change{Puts: []Put{p}}); n != 0 {
					t.Fatalf("%d puts stored; want none", n)
				}
				wantFound(t, s, "x", Absent, "")
			})
		})
	}
	f("a tag that the write does not have", []string{"item x"}, nil, "item x", "table")
	f("no tags of the put", []string{"item x"}, nil)
	f("no tags at all", nil, nil)
}

// Neither value is stored, because the order in which the origin applied the writes is unknown.
func TestOverlappingWritesLeaveNoEntry(t *testing.T) {
	f := func(name string, order func(c *Cache, s *Space) (stored int)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				if stored := order(c, s); stored != 0 {
					t.Fatalf("%d puts stored; want none", stored)
				}
				wantFound(t, s, "x", Absent, "")
			})
		})
	}
	x := tags("item x")
	f("the first ends first", func(c *Cache, s *Space) int {
		w1, w2 := begin(c, x, nil), begin(c, x, nil)
		return commit(w1, put(s, "x", "1", "item x")) + commit(w2, put(s, "x", "2", "item x"))
	})
	f("the second ends first", func(c *Cache, s *Space) int {
		w1, w2 := begin(c, x, nil), begin(c, x, nil)
		return commit(w2, put(s, "x", "2", "item x")) + commit(w1, put(s, "x", "1", "item x"))
	})
	f("a chain of three", func(c *Cache, s *Space) int {
		w1, w2 := begin(c, x, nil), begin(c, x, nil)
		n := commit(w1, put(s, "x", "1", "item x"))
		w3 := begin(c, x, nil)
		n += commit(w2, put(s, "x", "2", "item x"))
		return n + commit(w3, put(s, "x", "3", "item x"))
	})
	// W2 counts itself in and moves the generation between the two steps of W1's
	// Begin: W1 saw a count of one and its own generation, yet it is not alone.
	f("the second begins within the first's Begin", func(c *Cache, s *Space) int {
		w1 := begin(c, x, nil)
		c.slots[c.index(x[0])].writers.Add(1)
		return commit(w1, put(s, "x", "1", "item x"))
	})
	f("the other is unknown", func(c *Cache, s *Space) int {
		w1, w2 := begin(c, x, nil), begin(c, x, nil)
		w2.Unknown()
		return commit(w1, put(s, "x", "1", "item x"))
	})
	f("a change by the origin's feed in between", func(c *Cache, s *Space) int {
		w := begin(c, x, nil)
		c.Apply(Change{Cause: ByTable, Tags: x})
		return commit(w, put(s, "x", "1", "item x"))
	})
}

func TestWritesAfterEachOtherStoreTheirPuts(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		for _, v := range []string{"1", "2", "3"} {
			w := begin(c, tags("item x"), nil)
			if n := commit(w, put(s, "x", v, "item x")); n != 1 {
				t.Fatalf("write of %s stored %d puts; want 1", v, n)
			}
			wantFound(t, s, "x", Fresh, v)
		}
	})
}

// The second half of W1's Commit must not replace the value of W2, which began and ended between
// the halves.
//
//	W1: begin, settle .......................... put
//	W2:                begin, settle, put
func TestLatePutDoesNotReturn(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w1 := begin(c, tags("item x"), nil)
		w1.release(generationAt(c.Now()))
		w2 := begin(c, tags("item x"), nil)
		commit(w2, put(s, "x", "2", "item x"))
		late := put(s, "x", "1", "item x")
		if w1.put(&late.Puts[0]) {
			t.Fatal("the put of the older write was stored")
		}
		wantFound(t, s, "x", Fresh, "2")
	})
}

// A watched tag fences a Put like a tag of a fill: moved or moving, the Put is
// not stored.
func TestWatchedTagFencesPut(t *testing.T) {
	f := func(name string, want int, before, between func(c *Cache) *Write) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				other := before(c)
				w := begin(c, tags("item x"), tags("table"))
				between(c)
				if n := commit(w, put(s, "x", "1", "item x", "table")); n != want {
					t.Fatalf("%d puts stored; want %d", n, want)
				}
				if other != nil {
					commit(other, Change{})
				}
			})
		})
	}
	none := func(c *Cache) *Write { return nil }
	beginTable := func(c *Cache) *Write { return begin(c, tags("table"), nil) }
	f("quiet", 1, none, none)
	f("moved before", 1, func(c *Cache) *Write { commit(beginTable(c), Change{}); return nil }, none)
	f("moved between", 0, none, func(c *Cache) *Write { c.Apply(Change{Tags: tags("table")}); return nil })
	f("write in flight since before", 0, beginTable, none)
	f("write in flight since between", 0, none, beginTable)
	f("in quarantine", 0, func(c *Cache) *Write { beginTable(c).Unknown(); return nil }, none)
}

func TestUnknownOutcomeQuarantines(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		keep(t, s, "q", "1", "index")
		pass(time.Second + 500*time.Microsecond) // not at the start of a millisecond
		begin(c, tags("item x"), nil).Unknown(tags("index")...)
		wantFound(t, s, "x", Invalidated, "")
		wantFound(t, s, "q", Invalidated, "")
		settled := func(want bool) {
			t.Helper()
			for _, name := range []string{"item x", "index"} {
				st := c.Note(tags(name)...)
				if st.Settled != want || !st.Strong {
					t.Fatalf("%s: settled %v, strong %v; want %v and strong", name, st.Settled, st.Strong, want)
				}
			}
		}
		settled(false)
		f := value("2")
		if _, stored := s.Store(c.Note(tags("item x")...), []byte("x"), &f); stored {
			t.Fatal("a fill was stored in quarantine")
		}
		pass(time.Duration(c.quarantine) - 1)
		settled(false)
		pass(time.Millisecond)
		settled(true)
		// The origin may have applied the write at the very end.
		pass(time.Duration(c.settle) - 2*time.Millisecond)
		settled(true)
		keep(t, s, "x", "2", "item x")
		pass(3 * time.Millisecond)
		if st := c.Note(tags("item x")...); st.Strong {
			t.Fatal("strong for longer than settle after the quarantine")
		}
	})
}

// A write in quarantine may be ordered before one that the origin applies later:
//
//	W1: unknown, on its way ............. applied by the origin
//	W2:              begin, applied ................................ commit
//	                                                | quarantine over |
//
// So W2's value may not be the last, though W2 ends after the quarantine.
func TestWriteBegunInQuarantineStoresNoPut(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		begin(c, tags("item x"), nil).Unknown()
		pass(time.Duration(c.quarantine) - time.Second)
		w2 := begin(c, tags("item x"), nil)
		pass(2 * time.Second)
		if n := commit(w2, put(s, "x", "2", "item x")); n != 0 {
			t.Fatalf("%d puts stored; want none", n)
		}
		w3 := begin(c, tags("item x"), nil)
		if n := commit(w3, put(s, "x", "3", "item x")); n != 1 {
			t.Fatalf("after the quarantine %d puts stored; want 1", n)
		}
	})
}

// Writes and Changes within a quarantine must not end it.
func TestQuarantineOutlivesLaterWrites(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		begin(c, tags("item x"), nil).Unknown()
		pass(time.Second)
		if n := commit(begin(c, tags("item x"), nil), put(s, "x", "2", "item x")); n != 0 {
			t.Fatalf("%d puts stored in quarantine", n)
		}
		c.Apply(Change{Cause: ByTable, Tags: tags("item x")})
		pass(time.Duration(c.quarantine) - 2*time.Second)
		if st := c.Note(tags("item x")...); st.Settled {
			t.Fatal("a later write ended the quarantine")
		}
	})
}

// Only the first end of a write counts. So `defer w.Unknown()` ends the write after a panic, and a
// second end does not reduce the count of writes in flight.
func TestWriteEndsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x"), nil)
		commit(w, put(s, "x", "1", "item x"))
		w.Unknown()
		commit(w, put(s, "x", "2", "item x"))
		wantFound(t, s, "x", Fresh, "1")
		w2 := begin(c, tags("item x"), nil)
		if st := c.Note(tags("item x")...); st.Settled {
			t.Fatal("a stamp beside a write in flight is settled after another write has ended twice")
		}
		w2.Unknown()
		commit(w2, Change{})
		if got := c.slots[c.index(tags("item x")[0])].writers.Load(); got != 0 {
			t.Fatalf("%d writes in flight; want none", got)
		}
		if st := c.Note(tags("item x")...); st.Settled {
			t.Fatal("a Commit after Unknown ended the quarantine")
		}
	})
}

// Two of a write's tags may share a counter, and a watched tag one with a moved
// tag: the write is counted once and does not overlap with itself.
func TestTagsOfOneWriteShareCounters(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		a := tags("item x")[0]
		b, d := a^Tag(1)<<62, a^Tag(1)<<61
		if c.index(a) != c.index(b) || c.index(a) != c.index(d) {
			t.Fatal("the tags do not share a counter")
		}
		w := begin(c, []Tag{a, b, a}, []Tag{d, d})
		slot := &c.slots[c.index(a)]
		if got := slot.writers.Load(); got != 1 {
			t.Fatalf("the write is counted %d times", got)
		}
		p := Put{Space: s, Key: []byte("x"), Tags: []Tag{a, b, d}, Filling: value("1")}
		if n := commit(w, Change{Tags: []Tag{b}, Puts: []Put{p}}); n != 1 {
			t.Fatalf("%d puts stored; want 1", n)
		}
		if got := slot.writers.Load(); got != 0 {
			t.Fatalf("%d writes in flight; want none", got)
		}
		wantFound(t, s, "x", Fresh, "1")
	})
}

func TestApply(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		keep(t, s, "y", "1", "item y")
		keep(t, s, "z", "1", "item z")
		ch := put(s, "y", "2", "item y")
		ch.Cause, ch.Tags = ByTable, tags("item x")
		c.Apply(ch)
		wantFound(t, s, "x", Invalidated, "")
		wantFound(t, s, "y", Invalidated, "") // no fence: not stored
		wantFound(t, s, "z", Fresh, "1")
		for _, name := range []string{"item x", "item y"} {
			if st := c.Note(tags(name)...); !st.Strong || !st.Settled {
				t.Fatalf("%s: strong %v, settled %v", name, st.Strong, st.Settled)
			}
		}
		if got := c.Stats().Applied["table"]; got != 1 {
			t.Fatalf("got %d counted changes by the table, want 1", got)
		}
	})
}

// A large transaction moves the tags that it also watches, whatever the order of its marks.
func TestMovedTakesPrecedenceOverWatched(t *testing.T) {
	c, _ := open(t, Config{Generations: 64})
	var all []Tag
	for i := range 200 {
		all = append(all, Tag(i*37))
	}
	counted := func(want int32) {
		t.Helper()
		for i := range 64 {
			if got := c.slots[i].writers.Load(); got != want {
				t.Fatalf("counter %d: %d writes in flight; want %d", i, got, want)
			}
		}
	}
	w := begin(c, all, all)
	counted(1)
	commit(w, Change{})
	counted(0)
}

// Begin counts the write before it moves the generation, and the end of the write does both in the
// reverse order. Otherwise a note between the two would not detect the write:
//
//	W: moves gen ................ counts | the origin applies it
//	F:            note: settled                                    store, look-up: the past
func TestNoteMissesNoWriteInFlight(t *testing.T) {
	c, _ := open(t, Config{})
	x := tags("item x")
	var inFlight, stop atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ; !stop.Load(); runtime.Gosched() {
				st := c.Note(x...)
				for st.Settled && c.Current(&st) && !stop.Load() {
					if inFlight.Load() && c.Current(&st) {
						t.Error("a note beside a write in flight is settled, and current")
						return
					}
				}
			}
		})
	}
	for range 100_000 {
		w := begin(c, x, nil)
		inFlight.Store(true)
		for range 100 {
			inFlight.Load()
		}
		inFlight.Store(false)
		commit(w, Change{})
	}
	stop.Store(true)
	readers.Wait()
}
