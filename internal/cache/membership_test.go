//go:build !kasokubroken

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Without a lease look-ups find nothing and fills are strong and not stored. What was stored is
// found again once there is a lease.
func TestLease(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		c.SetLease(c.Now() + int64(time.Second))
		wantFound(t, s, "x", Fresh, "1")
		pass(time.Second - 1)
		wantFound(t, s, "x", Fresh, "1")
		if !c.Serves(c.Now()) {
			t.Error("a nanosecond before its end the lease is over")
		}
		pass(1)
		wantFound(t, s, "x", Unleased, "")
		if _, found := s.Peek([]byte("y"), c.Now()); found != Unleased || c.Serves(c.Now()) {
			t.Errorf("peek without a lease: got state %d", found)
		}
		st := c.Note(tags("item y")...)
		f := value("1")
		if _, stored := s.Store(st, []byte("y"), &f); st.Settled || !st.Strong || stored {
			t.Errorf("fill without a lease: settled %v, strong %v, stored %v", st.Settled, st.Strong, stored)
		}
		c.SetLease(math.MaxInt64)
		wantFound(t, s, "x", Fresh, "1")
		wantFound(t, s, "y", Absent, "")
	})
}

// A request without a lease does not join a fill that began with one, or take its entry.
func TestFillIsNotJoinedWithoutLease(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		first := read(background, s, "x", o.fill, "item x")
		early := o.next(t)
		c.SetLease(0)
		second := read(background, s, "x", o.fill, "item x")
		late := o.next(t)
		if !early.stamp.Settled || late.stamp.Settled || !late.stamp.Strong {
			t.Fatalf("with a lease: settled %v; without: %v, strong %v", early.stamp.Settled, late.stamp.Settled, late.stamp.Strong)
		}
		late.answer <- "2"
		early.answer <- "1"
		second.want(t, "2", false, false)
		first.want(t, "1", true, false) // it began with a lease, and no write has moved its tag
		third := read(background, s, "x", o.fill, "item x")
		o.next(t).answer <- "3"
		third.want(t, "3", false, false)
		wantNoFlights(t, s)
	})
}

// After Empty nothing is found that was stored before, in any store, and nothing is stored that
// began before.
func TestEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		capped := space(t, c, 1<<20)
		l := &removalCounter{}
		s.Store(c.Note(), []byte("listener"), &Filling{Value: l, TTL: time.Hour})
		keep(t, s, "x", "1", "item x")
		keep(t, capped, "x", "1", "item x")
		old, _ := s.Peek([]byte("x"), c.Now())
		fill, unfenced := c.Note(tags("item y")...), c.Unfenced()
		superseded := c.Note(tags("item s")...)
		w := begin(c, tags("item z"), nil)
		o := newOrigin()
		waiting := read(background, s, "f", o.fill, "item f")
		early := o.next(t)

		c.Empty()
		for _, of := range []*Space{s, capped} {
			wantFound(t, of, "x", Absent, "")
		}
		synctest.Wait()
		for _, of := range []*Space{s, capped} {
			if n := of.Usage().Entries; n != 0 {
				t.Errorf("%d entries are stored, want none", n)
			}
		}
		if l.calls.Load() != 1 {
			t.Errorf("the removal listener was called %d times, want 1", l.calls.Load())
		}
		f := value("1")
		for _, st := range []Stamp{fill, unfenced} {
			if _, stored := s.Store(st, []byte("y"), &f); stored || c.Current(&st) {
				t.Error("a fill that began before was stored, or its stamp is current")
			}
		}
		if _, ok := c.Supersede(superseded); ok {
			t.Error("a stamp from before was superseded")
		}
		if n := commit(w, put(s, "z", "1", "item z")); n != 0 {
			t.Error("a write that began before has stored its put")
		}
		if s.Attach(old, []byte("variant")) || s.Drop([]byte("x"), old) {
			t.Error("attached to an entry from before, or dropped it")
		}
		joins := read(background, s, "f", o.fill, "item f")
		o.next(t).answer <- "2"
		early.answer <- "1"
		waiting.want(t, "1", false, false)
		joins.want(t, "2", true, false)

		keep(t, s, "x", "2", "item x")
		e, _ := s.Peek([]byte("x"), c.Now())
		if !s.Attach(e, []byte("variant")) {
			t.Error("no variant was attached to a new entry")
		}
		e, _ = s.Peek([]byte("x"), c.Now())
		if !s.Drop([]byte("x"), e) {
			t.Error("a new entry was not dropped")
		}
		s.Refresh([]byte("x"), tags("item x"), o.fill)
		o.next(t).answer <- "3"
		synctest.Wait()
		wantFound(t, s, "x", Fresh, "3")
	})
}

// slowRemoval is a value whose removal waits.
type slowRemoval struct{ begins, may chan struct{} }

func (r *slowRemoval) Removed() {
	r.begins <- struct{}{}
	<-r.may
}

// Empty does not wait until entries are removed, removes them even if it is called again meanwhile,
// and keeps entries that are stored later. Close waits for the removal.
func TestEmptyDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		other := space(t, c, 1<<20) // its store is locked during the removal
		slow := &slowRemoval{make(chan struct{}, 1), make(chan struct{})}
		other.Store(c.Note(), []byte("slow"), &Filling{Value: slow, TTL: time.Hour})
		c.Empty()
		<-slow.begins
		keep(t, s, "x", "1", "item x")
		c.Empty()
		wantFound(t, s, "x", Absent, "")
		keep(t, s, "x", "2", "item x")
		close(slow.may)
		synctest.Wait()
		wantFound(t, s, "x", Fresh, "2")
		if n := s.Usage().Entries; n != 1 {
			t.Errorf("%d entries are stored, want 1", n)
		}

		last := &slowRemoval{make(chan struct{}, 1), make(chan struct{})}
		other.Store(c.Note(), []byte("slow"), &Filling{Value: last, TTL: time.Hour})
		c.Empty()
		<-last.begins
		closed := make(chan struct{})
		go func() {
			c.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close has not waited for the removal")
		default:
		}
		close(last.may)
		<-closed
		c.Empty() // after Close it starts nothing
	})
}

// An entry that is stored while Empty runs is found by no look-up, also if the stores have been
// cleared before it.
func TestStoreBehindEmptyIsNotFound(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		st, f := c.Note(tags("item x")...), value("1")
		e := s.newEntry(st, []byte("x"), &f)
		c.Empty()
		s.store.otter.Set(s.hashIn(st.era, []byte("x")), e)
		wantFound(t, s, "x", Absent, "")
	})
}

func TestEmptied(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		want := func(st Stamp, emptied, current bool) {
			t.Helper()
			if got := c.Emptied(&st); got != emptied || c.Current(&st) != current {
				t.Errorf("emptied %v, current %v; want %v, %v", got, c.Current(&st), emptied, current)
			}
		}
		st := c.Note(tags("item x")...)
		want(st, false, true)
		want(c.BeforeEmpty(st), true, false)
		c.Empty()
		want(st, true, false)
		want(c.BeforeEmpty(c.Note(tags("item x")...)), true, false)
		c.Hold(tags("item x")).Release()
		want(st, false, false)
	})
}

func TestAgeAfterEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		pass(time.Hour)
		c.Empty()
		pass(time.Minute)
		st := c.Note(tags("item x")...)
		if got := c.Age(&st); got > time.Minute || got < time.Minute-2*time.Millisecond {
			t.Errorf("age of a tag that did not move: got %v, want a minute", got)
		}
	})
}

func TestSettleUntilAndColdUntil(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		want := func(settled, strong bool) {
			t.Helper()
			if st := c.Note(tags("item x")...); st.Settled != settled || st.Strong != strong {
				t.Fatalf("settled %v, strong %v; want %v, %v", st.Settled, st.Strong, settled, strong)
			}
		}
		want(true, false)
		c.SettleUntil(c.Now() + int64(time.Second))
		c.SettleUntil(c.Now()) // no effect
		want(true, true)
		pass(time.Second)
		want(true, false)
		c.ColdUntil(c.Now() + int64(time.Second))
		want(false, true)
		w := begin(c, tags("item x"), nil)
		pass(time.Second)
		if n := commit(w, put(s, "x", "1", "item x")); n != 0 {
			t.Error("the put of a write that began while cold was stored")
		}
		if st := c.Note(tags("item y")...); !st.Settled || !st.Strong {
			t.Errorf("after the cold time: settled %v, strong %v; want both", st.Settled, st.Strong)
		}
		pass(time.Duration(c.settle) + 2*time.Millisecond)
		want(true, false)
	})
}

// recorder is a coordinator that records its calls.
type recorder struct {
	calls                     []string
	begin, extend             error
	unsendable                bool
	begins, extends, unknowns func(tags []Tag) // nil for nothing
}

func (r *recorder) call(name string, do func([]Tag), of []Tag) {
	r.calls = append(r.calls, fmt.Sprintf("%s %d", name, len(of)))
	if do != nil {
		do(of)
	}
}

func (*recorder) Broadcast(context.Context, []byte) error { return nil }

func (r *recorder) Begin(_ context.Context, tags, _ []Tag) (Round, error) {
	r.call("begin", r.begins, tags)
	return r, r.begin
}

func (r *recorder) Extend(_ context.Context, tags []Tag) error {
	r.call("extend", r.extends, tags)
	return r.extend
}

func (r *recorder) Sendable() bool     { return !r.unsendable }
func (r *recorder) Commit()            { r.call("commit", nil, nil) }
func (r *recorder) Unknown(tags []Tag) { r.call("unknown", r.unknowns, tags) }

var errRefused = errors.New("refused")

// Each write makes the calls of a round, ends it once, and is no longer in flight then.
func TestCallsOfRound(t *testing.T) {
	x := tags("item x")
	f := func(name string, k *recorder, do func(c *Cache) error, wantErr error, settled bool, want ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				c.SetCoordinator(k)
				if err := do(c); !errors.Is(err, wantErr) {
					t.Errorf("got error %v, want %v", err, wantErr)
				}
				if !slices.Equal(k.calls, want) {
					t.Errorf("got calls %q, want %q", k.calls, want)
				}
				for _, name := range []string{"item x", "index"} {
					if n := c.slots[c.index(tags(name)[0])].writers.Load(); n != 0 {
						t.Errorf("%s: %d writes in flight, want none", name, n)
					}
				}
				if st := c.Note(x...); st.Settled != settled {
					t.Errorf("settled afterwards: got %v", st.Settled)
				}
			})
		})
	}
	write := func(end func(w *Write) error) func(c *Cache) error {
		return func(c *Cache) error {
			w, err := c.Begin(background, x, tags("table"))
			if err != nil {
				return err
			}
			defer w.Unknown()
			return end(w)
		}
	}
	committed := func(names ...string) func(w *Write) error {
		return func(w *Write) error {
			_, err := w.Commit(background, Change{Tags: tags(names...)})
			return err
		}
	}
	f("commit", &recorder{}, write(committed()), nil, true, "begin 1", "commit 0")
	f("commit of the same tags", &recorder{}, write(committed("item x", "item x")), nil, true, "begin 1", "commit 0")
	f("commit of further tags", &recorder{}, write(committed("item x", "index", "index")), nil, true, "begin 1", "extend 1", "commit 0")
	f("extend fails", &recorder{extend: errRefused}, write(committed("index", "item x")), errRefused, false, "begin 1", "extend 1", "unknown 2")
	f("lease over after extend", &recorder{unsendable: true}, write(committed("index")), ErrIsolated, false, "begin 1", "extend 1", "unknown 1")
	f("unknown", &recorder{}, write(func(w *Write) error { w.Unknown(tags("index")...); return nil }), nil, false, "begin 1", "unknown 1")
	f("refused", &recorder{begin: errRefused}, write(committed()), errRefused, true, "begin 1")
	f("invalidated", &recorder{}, func(c *Cache) error {
		return c.Invalidate(background, Change{Tags: x, Puts: put(nil, "y", "1", "item y").Puts})
	}, nil, true, "begin 2", "commit 0")
	f("not invalidated", &recorder{begin: errRefused}, func(c *Cache) error {
		return c.Invalidate(background, Change{Tags: x})
	}, errRefused, true, "begin 1")
	f("invalidated without a lease", &recorder{unsendable: true}, func(c *Cache) error {
		return c.Invalidate(background, Change{Tags: x})
	}, ErrIsolated, false, "begin 1", "unknown 0")
	f("panics in Begin", &recorder{begins: func([]Tag) { panic("fault") }}, func(c *Cache) (err error) {
		defer func() {
			if recover() == nil {
				err = errors.New("no panic")
			}
		}()
		return write(committed())(c)
	}, nil, true, "begin 1")
	f("panics in Extend", &recorder{extends: func([]Tag) { panic("fault") }}, func(c *Cache) (err error) {
		defer func() {
			if recover() == nil {
				err = errors.New("no panic")
			}
		}()
		return write(committed("index"))(c)
	}, nil, false, "begin 1", "extend 1", "unknown 0")
}

// The tags of a round are fenced in the own cache when the coordinator gets them, and until it has
// finished.
func TestOwnFenceIsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		unsettled := 0
		check := func(of []Tag) {
			if st := c.Note(of...); !st.Settled && len(of) > 0 {
				unsettled++
			}
		}
		k := &recorder{begins: check, extends: check, unknowns: check}
		c.SetCoordinator(k)
		keep(t, s, "q", "1", "index")
		w := begin(c, tags("item x"), nil)
		ch := put(s, "x", "2", "item x")
		ch.Tags = tags("index")
		k.extends = func(of []Tag) {
			check(of)
			wantFound(t, s, "q", Invalidated, "")
		}
		if n := commit(w, ch); n != 1 || unsettled != 2 {
			t.Errorf("%d puts stored, and %d calls saw a write in flight; want 1 and 2", n, unsettled)
		}
		wantFound(t, s, "x", Fresh, "2")
		begin(c, tags("item x"), nil).Unknown(tags("index")...)
		if unsettled != 4 {
			t.Errorf("%d calls saw a write in flight or a quarantine, want 4", unsettled)
		}
	})
}

// A write of another member that overlaps is a writer like a local one.
func TestPutBesideHold(t *testing.T) {
	x := tags("item x")
	f := func(name string, want int, before func(c *Cache) *Hold, between func(h *Hold), after func(c *Cache)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				h := before(c)
				w := begin(c, x, tags("table"))
				between(h)
				after(c)
				if n := commit(w, put(s, "x", "1", "item x", "table")); n != want {
					t.Errorf("%d puts stored, want %d", n, want)
				}
				h.Release()
				if got := c.slots[c.index(x[0])].writers.Load(); got != 0 {
					t.Errorf("%d writes in flight, want none", got)
				}
			})
		})
	}
	hold := func(names ...string) func(c *Cache) *Hold {
		return func(c *Cache) *Hold { return c.Hold(tags(names...)) }
	}
	none, nothing := func(*Hold) {}, func(*Cache) {}
	f("of another tag", 1, hold("item y"), none, nothing)
	f("in flight", 0, hold("item x"), none, nothing)
	f("released", 0, hold("item x"), (*Hold).Release, nothing)
	f("extended", 0, hold("item y"), func(h *Hold) { h.Extend(x) }, nothing)
	f("extended and released", 0, hold("item y"), func(h *Hold) { h.Extend(x); h.Release() }, nothing)
	f("of a watched tag", 0, hold("table"), none, nothing)
	f("of a watched tag, begun later", 0, hold(), none, func(c *Cache) { c.Hold(tags("table")).Release() })
	f("begun later", 0, hold(), none, func(c *Cache) { c.Hold(x).Release() })
	f("ended before", 1, func(c *Cache) *Hold { h := c.Hold(x); h.Release(); return h }, none, nothing)
	f("in quarantine", 0, func(c *Cache) *Hold { h := c.Hold(x); h.Quarantine(time.Minute); return h }, none, nothing)
}

func TestHoldEndsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		h, other := c.Hold(tags("item x", "item x")), c.Hold(tags("item x"))
		h.Extend(tags("item x", "item y", "item y"))
		if got := c.Generations(tags("item x", "item y")...); !strings.HasSuffix(got[0], "2 writes in flight") || !strings.HasSuffix(got[1], "1 writes in flight") {
			t.Errorf("got %q", got)
		}
		h.Release()
		h.Quarantine(time.Minute, tags("item z")...)
		h.Release()
		h.Extend(tags("item z"))
		other.Release()
		for _, name := range []string{"item x", "item y", "item z"} {
			if st := c.Note(tags(name)...); !st.Settled {
				t.Errorf("%s is not settled", name)
			}
		}
		h = c.Hold(tags("item x"))
		h.Quarantine(time.Minute, tags("item y")...)
		h.Release()
		for _, want := range []bool{false, true} {
			for _, name := range []string{"item x", "item y"} {
				if st := c.Note(tags(name)...); st.Settled != want {
					t.Errorf("%s: settled %v, want %v", name, st.Settled, want)
				}
			}
			pass(time.Minute + 2*time.Millisecond)
		}
	})
}

// InvalidateSince lets the answer of a write be stored only if nothing else has moved its tag
// since the write was sent, here or at another member.
func TestInvalidateSince(t *testing.T) {
	x := tags("item x")[0]
	for _, coordinated := range []bool{false, true} {
		f := func(name string, between func(c *Cache), want bool) {
			t.Helper()
			t.Run(fmt.Sprint(name, ", coordinated: ", coordinated), func(t *testing.T) {
				bubble(t, func(t *testing.T, c *Cache, s *Space) {
					k := &recorder{}
					if coordinated {
						c.SetCoordinator(k)
					}
					keep(t, s, "y", "1", "item y")
					st := c.Note(x)
					between(c)
					next, alone, err := c.InvalidateSince(background, st, x, Change{Tags: tags("item y")})
					if err != nil || alone != want {
						t.Fatalf("alone: got %v, %v; want %v", alone, err, want)
					}
					if e, _ := s.Peek([]byte("y"), c.Now()); e != nil {
						t.Error("an entry of a tag of the Change is found")
					}
					f := value("2")
					if _, stored := s.Store(next, []byte("x"), &f); stored != want {
						t.Errorf("stored: got %v, want %v", stored, want)
					}
					if c.Current(&st) {
						t.Error("the stamp from before is current")
					}
					if coordinated && !slices.Equal(k.calls, []string{"begin 2", "commit 0"}) {
						t.Errorf("got calls %q", k.calls)
					}
				})
			})
		}
		f("quiet", func(*Cache) {}, true)
		f("another tag written", func(c *Cache) { c.Hold(tags("item z")).Release() }, true)
		f("written", func(c *Cache) { c.Hold([]Tag{x}).Release() }, false)
		f("write in flight", func(c *Cache) { c.Hold([]Tag{x}) }, false)
		f("emptied", func(c *Cache) { c.Empty() }, false)
	}
	t.Run("written meanwhile", func(t *testing.T) {
		bubble(t, func(t *testing.T, c *Cache, s *Space) {
			c.SetCoordinator(&recorder{begins: func([]Tag) { c.Hold([]Tag{x}).Release() }})
			if _, alone, err := c.InvalidateSince(background, c.Note(x), x, Change{}); alone || err != nil {
				t.Errorf("got %v, %v", alone, err)
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		bubble(t, func(t *testing.T, c *Cache, s *Space) {
			c.SetCoordinator(&recorder{begin: errRefused})
			keep(t, s, "x", "1", "item x")
			if _, alone, err := c.InvalidateSince(background, c.Note(x), x, Change{}); alone || !errors.Is(err, errRefused) {
				t.Errorf("got %v, %v", alone, err)
			}
			wantFound(t, s, "x", Invalidated, "")
		})
	})
}

func TestGuards(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x"), nil)
		if c.Guard() != nil || w.Guard() != nil || !w.Sendable() {
			t.Error("a cache without a coordinator guards its writes")
		}
		w.Unknown()
		k := &recorder{}
		c.SetCoordinator(k)
		w = begin(c, tags("item x"), nil)
		defer w.Unknown()
		if !w.Sendable() || !w.Guard()() || !c.Guard()() {
			t.Error("a write with a lease may not be sent")
		}
		k.unsendable = true
		c.SetLease(c.Now())
		if w.Sendable() || w.Guard()() || c.Guard()() {
			t.Error("a write without a lease may be sent")
		}
	})
}
