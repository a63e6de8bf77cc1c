//go:build !kasokubroken

package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var background = context.Background()

// wantNoFlights waits for the goroutines of the bubble and fails if a flight remains.
func wantNoFlights(t testing.TB, s *Space) {
	t.Helper()
	synctest.Wait()
	for i := range s.flights {
		for key := range s.flights[i].byKey {
			t.Fatalf("the flight of %s remains", key)
		}
	}
}

func TestColdKeyIsFilledOnce(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		const readers = 1000
		o := newOrigin()
		var all []*reader
		for range readers {
			all = append(all, read(background, s, "x", o.fill, "item x"))
		}
		o.next(t).answer <- "1"
		coalesced := 0
		for _, r := range all {
			r.wait(t)
			if r.err != nil || string(r.answer.Entry.Payload()) != "1" || !r.answer.Stored {
				t.Fatalf("a reader got %+v, %v", r.answer, r.err)
			}
			if r.answer.Coalesced {
				coalesced++
			}
		}
		if st := c.Stats(); coalesced != readers-1 || st.Fills != 1 || st.Coalesced != readers-1 {
			t.Fatalf("got %d coalesced readers, %d fills and a coalesced count of %d", coalesced, st.Fills, st.Coalesced)
		}
		wantFound(t, s, "x", Fresh, "1")
		wantNoFlights(t, s)
	})
}

// Goroutines that look up and fill a key concurrently share one fill, however they interleave with
// its start and end.
func TestColdKeysAreFilledOnceInParallel(t *testing.T) {
	_, s := open(t, Config{})
	var fills atomic.Int32
	for round := range 200 {
		key := fmt.Appendf(nil, "key %d", round)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, found, _ := s.Lookup(key, s.cache.Now()); found == Fresh {
					return
				}
				runtime.Gosched()
				_, err := s.Fill(background, key, tags("item x"), func(context.Context, *Stamp) (Filling, error) {
					fills.Add(1)
					return value("1"), nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if got := fills.Load(); got != 200 {
		t.Fatalf("got %d fills of 200 keys, want 200", got)
	}
}

// A caller that missed and is too late to join the flight looks the key up again.
func TestCallerThatMissedTheFlightFindsItsEntry(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		r := read(background, s, "x", func(context.Context, *Stamp) (Filling, error) {
			return Filling{}, errors.New("filled although the entry is stored")
		}, "item x")
		r.want(t, "1", true, true)
	})
}

func TestWaiterWhoseContextEnds(t *testing.T) {
	f := func(name string, canceled int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				o := newOrigin()
				gone := errors.New("the client has disconnected")
				ctx, cancel := context.WithCancelCause(background)
				ctxs := []context.Context{background, background, background}
				ctxs[canceled] = ctx
				var all []*reader
				for _, ctx := range ctxs {
					all = append(all, read(ctx, s, "x", o.fill, "item x"))
				}
				call := o.next(t)
				cancel(gone)
				all[canceled].wait(t)
				if !errors.Is(all[canceled].err, gone) {
					t.Fatalf("got error %v, want that of the context", all[canceled].err)
				}
				for i, r := range all {
					if i != canceled {
						r.wantWaiting(t)
					}
				}
				call.answer <- "1"
				for i, r := range all {
					if i != canceled {
						r.want(t, "1", true, i != 0)
					}
				}
				wantNoFlights(t, s)
			})
		})
	}
	f("the caller that started the fill", 0)
	f("a caller that joined it", 2)
}

// A fill that runs in its caller's goroutine is joined like any other one, and joins others.
func TestFillHere(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		first := readHere(background, s, "x", o.fill, "item x")
		call := o.next(t)
		second, third := read(background, s, "x", o.fill, "item x"), readHere(background, s, "x", o.fill, "item x")
		second.wantWaiting(t)
		third.wantWaiting(t)
		call.answer <- "1"
		first.want(t, "1", true, false)
		second.want(t, "1", true, true)
		third.want(t, "1", true, true)
		if st := c.Stats(); st.Fills != 1 {
			t.Errorf("got %d fills", st.Fills)
		}
		wantNoFlights(t, s)
	})
}

// The end of the context ends a fill that runs in its caller's goroutine, for all of its callers,
// and also the waiting for a fill of another caller.
func TestFillHereWhoseContextEnds(t *testing.T) {
	stopped := errors.New("the server is stopped")
	waiting := func(ctx context.Context, _ *Stamp) (Filling, error) {
		<-ctx.Done()
		return Filling{}, ctx.Err()
	}
	for _, starts := range []bool{true, false} {
		bubble(t, func(t *testing.T, _ *Cache, s *Space) {
			ctx, cancel := context.WithCancelCause(background)
			var own, other *reader
			if starts {
				own = readHere(ctx, s, "x", waiting, "item x")
				other = read(background, s, "x", waiting, "item x")
			} else {
				other = read(background, s, "x", waiting, "item x")
				own = readHere(ctx, s, "x", waiting, "item x")
			}
			cancel(stopped)
			own.wait(t)
			if !errors.Is(own.err, stopped) {
				t.Errorf("got %v", own.err)
			}
			synctest.Wait()
			if !starts {
				other.wantWaiting(t)
			}
			if other.wait(t); other.err == nil {
				t.Error("the other caller got an answer")
			}
			wantNoFlights(t, s)
		})
	}
}

// A fill whose callers have all given up is stored.
func TestFillWithoutWaitersIsStored(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		ctx, cancel := context.WithCancel(background)
		r := read(ctx, s, "x", o.fill, "item x")
		call := o.next(t)
		cancel()
		r.wait(t)
		call.answer <- "1"
		wantNoFlights(t, s)
		wantFound(t, s, "x", Fresh, "1")
	})
}

func TestFillTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		started := c.Now()
		r := read(background, s, "x", func(ctx context.Context, _ *Stamp) (Filling, error) {
			<-ctx.Done()
			return Filling{}, fmt.Errorf("origin: %w", ctx.Err())
		}, "item x")
		r.wait(t)
		if took := time.Duration(c.Now() - started); took != c.fillTimeout || !errors.Is(r.err, context.DeadlineExceeded) {
			t.Fatalf("the fill ended after %v with %v", took, r.err)
		}
		wantNoFlights(t, s)
	})
}

// A fill that fails, panics or ends its goroutine fails for all waiters, and does not affect
// the next one.
func TestFillThatFails(t *testing.T) {
	down := errors.New("origin is down")
	f := func(name string, want error, text string, fill func()) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				begin := make(chan struct{})
				failing := func(context.Context, *Stamp) (Filling, error) {
					<-begin
					fill()
					return Filling{Extra: "status 500"}, down
				}
				r1 := read(background, s, "x", failing, "item x")
				r2 := read(background, s, "x", failing, "item x")
				close(begin)
				for _, r := range []*reader{r1, r2} {
					r.wait(t)
					if !errors.Is(r.err, want) || !strings.Contains(r.err.Error(), text) {
						t.Fatalf("the fill failed with %v; want %v and %q", r.err, want, text)
					}
					if want == down && r.answer.Extra != "status 500" {
						t.Fatalf("the failed fill returned extra %v", r.answer.Extra)
					}
				}
				wantNoFlights(t, s)
				wantFound(t, s, "x", Absent, "")
				o := newOrigin()
				r3 := read(background, s, "x", o.fill, "item x")
				o.next(t).answer <- "1"
				r3.want(t, "1", true, false)
			})
		})
	}
	f("error", down, "origin is down", func() {})
	f("panic", ErrFillPanicked, "flight_test.go", func() { panic("no such field") })
	f("panic, text", ErrFillPanicked, "no such field", func() { panic("no such field") })
	f("goexit", ErrFillPanicked, "ended its goroutine", runtime.Goexit)
}

func TestPanicsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		r := read(background, s, "x", o.fill, "item x")
		close(o.next(t).answer)
		r.wait(t)
		if got := c.Stats().Panics; got != 1 {
			t.Fatalf("got %d counted panics, want 1", got)
		}
	})
}

// W1 begins after the fill. Callers that waited before W1 may receive the value from before
// it; a look-up after W1 must not.
//
//	F: note, origin reads 1 ....................... store
//	W:                        begin, applied, commit
func TestOvertakenFillIsServedNotStored(t *testing.T) {
	f := func(name string, overtake func(c *Cache)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, c *Cache, s *Space) {
				o := newOrigin()
				r1 := read(background, s, "x", o.fill, "item x")
				r2 := read(background, s, "x", o.fill, "item x")
				call := o.next(t)
				overtake(c)
				call.answer <- "1"
				r1.want(t, "1", false, false)
				r2.want(t, "1", false, true)
				wantFound(t, s, "x", Absent, "")
				wantNoFlights(t, s)
				if got := c.Stats().Overtaken; got != 1 {
					t.Fatalf("got %d overtaken fills, want 1", got)
				}
			})
		})
	}
	f("a write", func(c *Cache) { commit(begin(c, tags("item x"), nil), Change{}) })
	f("a write in flight", func(c *Cache) { begin(c, tags("item x"), nil) })
	f("a write with an unknown outcome", func(c *Cache) { begin(c, tags("item x"), nil).Unknown() })
	f("a purge", func(c *Cache) { c.Apply(Change{Cause: ByPurge, Tags: tags("item x")}) })
}

// R2 starts after W has ended. The running fill may have read the origin before W.
//
//	R1: fill: origin reads 1 .................................... ends
//	W:                          begin, applied, commit
//	R2:                                                fill: must not get 1
func TestReaderAfterWriteStartsAnotherFill(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		r1 := read(background, s, "x", o.fill, "item x")
		first := o.next(t)
		commit(begin(c, tags("item x"), nil), Change{})
		r2 := read(background, s, "x", o.fill, "item x")
		second := o.next(t)
		if !second.stamp.Strong {
			t.Fatal("the fill right after a write is not strong")
		}
		r3 := read(background, s, "x", o.fill, "item x") // joins the new fill
		first.answer <- "1"
		r1.want(t, "1", false, false)
		r4 := read(background, s, "x", o.fill, "item x") // joins it after the end of the old fill
		second.answer <- "2"
		r2.want(t, "2", true, false)
		r3.want(t, "2", true, true)
		r4.want(t, "2", true, true)
		wantFound(t, s, "x", Fresh, "2")
		wantNoFlights(t, s)
		if got := c.Stats().Fills; got != 2 {
			t.Fatalf("got %d fills, want 2", got)
		}
	})
}

// The old fill ends after the new one, and must not replace the new one's entry.
func TestOvertakenFillEndsLast(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		r1 := read(background, s, "x", o.fill, "item x")
		first := o.next(t)
		c.Apply(Change{Tags: tags("item x")})
		r2 := read(background, s, "x", o.fill, "item x")
		o.next(t).answer <- "2"
		r2.want(t, "2", true, false)
		first.answer <- "1"
		r1.want(t, "1", false, false)
		wantFound(t, s, "x", Fresh, "2")
		wantNoFlights(t, s)
	})
}

// A fill that is in flight together with a write may read the origin before or after it. Such a
// fill can't be joined, because R2 may have seen the write by other means. R2 waits for the
// next fill, which all later callers share.
func TestReadersBesideWriteQueueForTheNextFill(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		w := begin(c, tags("item x"), nil)
		r1 := read(background, s, "x", o.fill, "item x")
		first := o.next(t)
		if first.stamp.Settled || !first.stamp.Strong {
			t.Fatalf("a fill beside a write: settled %v, strong %v", first.stamp.Settled, first.stamp.Strong)
		}
		r2 := read(background, s, "x", o.fill, "item x")
		r3 := read(background, s, "x", o.fill, "item x")
		first.answer <- "1"
		r1.want(t, "1", false, false)
		second := o.next(t)
		if second.stamp.Settled {
			t.Fatal("the second fill did not see the write in flight")
		}
		r2.wantWaiting(t)
		r4 := read(background, s, "x", o.fill, "item x")
		commit(w, Change{})
		r5 := read(background, s, "x", o.fill, "item x") // the second fill began during the write: r5 does not join it either
		second.answer <- "2"
		r2.want(t, "2", false, false)
		r3.want(t, "2", false, true)
		third := o.next(t)
		if !third.stamp.Settled {
			t.Fatal("the third fill saw a write that has ended")
		}
		r6 := read(background, s, "x", o.fill, "item x") // joins the third fill
		third.answer <- "3"
		r4.want(t, "3", true, false)
		r5.want(t, "3", true, true)
		r6.want(t, "3", true, true)
		wantFound(t, s, "x", Fresh, "3")
		wantNoFlights(t, s)
		if st := c.Stats(); st.Fills != 3 || st.Queued != 4 || st.Unsettled != 2 {
			t.Fatalf("%d fills, %d queued, %d unsettled; want 3, 4, 2", st.Fills, st.Queued, st.Unsettled)
		}
	})
}

// A queued fill starts when the one before it has failed, and when it panicked.
func TestQueuedFillFollowsFailedOne(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		w := begin(c, tags("item x"), nil)
		o := newOrigin()
		r1 := read(background, s, "x", o.fill, "item x")
		first := o.next(t)
		r2 := read(background, s, "x", o.fill, "item x")
		commit(w, Change{})
		close(first.answer)
		r1.wait(t)
		if !errors.Is(r1.err, ErrFillPanicked) {
			t.Fatalf("the first fill ended with %v", r1.err)
		}
		o.next(t).answer <- "2"
		r2.want(t, "2", true, false)
		wantNoFlights(t, s)
	})
}

func TestRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		o := newOrigin()
		s.Refresh([]byte("x"), tags("item x"), o.fill)
		call := o.next(t)
		s.Refresh([]byte("x"), tags("item x"), o.fill) // does nothing: a refresh is in flight
		wantFound(t, s, "x", Fresh, "1")
		call.answer <- "2"
		wantNoFlights(t, s)
		wantFound(t, s, "x", Fresh, "2")
		if st := c.Stats(); st.Refreshes != 1 || st.Fills != 1 || st.Coalesced != 0 {
			t.Fatalf("%d refreshes, %d fills, %d coalesced; want 1, 1, 0", st.Refreshes, st.Fills, st.Coalesced)
		}
	})
}

// A refresh has no waiters, so it is not queued behind a running fill.
func TestRefreshBesideFillInFlightDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		begin(c, tags("item x"), nil)
		r := read(background, s, "x", o.fill, "item x")
		call := o.next(t)
		s.Refresh([]byte("x"), tags("item x"), o.fill)
		call.answer <- "1"
		r.want(t, "1", false, false)
		wantNoFlights(t, s)
		if st := c.Stats(); st.Refreshes != 0 || st.Fills != 1 {
			t.Fatalf("got %d refreshes and %d fills, want 0 and 1", st.Refreshes, st.Fills)
		}
	})
}

// A refresh overtaken by a write does not store its entry.
func TestRefreshOvertaken(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		keep(t, s, "x", "1", "item x")
		o := newOrigin()
		s.Refresh([]byte("x"), tags("item x"), o.fill)
		call := o.next(t)
		commit(begin(c, tags("item x"), nil), put(s, "x", "3", "item x"))
		call.answer <- "2"
		wantNoFlights(t, s)
		wantFound(t, s, "x", Fresh, "3")
	})
}

func TestFillsOfKeysAndSpacesAreSeparate(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		other := space(t, c, 0)
		o := newOrigin()
		r1 := read(background, s, "x", o.fill, "item x")
		first := o.next(t)
		r2 := read(background, s, "y", o.fill, "item x")
		second := o.next(t)
		r3 := read(background, other, "x", o.fill, "item x")
		third := o.next(t)
		third.answer <- "3"
		second.answer <- "2"
		first.answer <- "1"
		r1.want(t, "1", true, false)
		r2.want(t, "2", true, false)
		r3.want(t, "3", true, false)
		wantFound(t, s, "x", Fresh, "1")
		wantFound(t, other, "x", Fresh, "3")
	})
}

// The buffers of the caller's key and tags may be reused after the caller has returned.
func TestFillKeepsItsOwnKeyAndTags(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		key, names := []byte("x"), tags("item x")
		go s.Fill(background, key, names, o.fill)
		call := o.next(t)
		key[0], names[0] = 'y', 0
		call.answer <- "1"
		wantNoFlights(t, s)
		wantFound(t, s, "x", Fresh, "1")
		wantFound(t, s, "y", Absent, "")
		c.Apply(Change{Tags: tags("item x")})
		wantFound(t, s, "x", Invalidated, "")
	})
}

// Too many tags are the caller's mistake: Fill panics in the caller, not in a goroutine of
// the cache, and releases its lock.
func TestTooManyTags(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		o := newOrigin()
		begin(c, tags("a"), nil) // the second caller would queue
		r := read(background, s, "x", o.fill, "a")
		call := o.next(t)
		panicked := func() (p bool) {
			defer func() { p = recover() != nil }()
			s.Fill(background, []byte("x"), tags("a", "b", "c", "d", "e"), o.fill)
			return false
		}()
		if !panicked {
			t.Fatal("five tags were accepted")
		}
		call.answer <- "1"
		r.want(t, "1", false, false)
		wantNoFlights(t, s)
	})
}

func TestFillExtra(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cache, s *Space) {
		r := read(background, s, "x", func(context.Context, *Stamp) (Filling, error) {
			f := value("1")
			f.Extra, f.NoStore = "header", true
			return f, nil
		}, "item x")
		r.want(t, "1", false, false)
		if r.answer.Extra != "header" {
			t.Fatalf("got extra %v, want header", r.answer.Extra)
		}
		wantFound(t, s, "x", Absent, "")
	})
}
