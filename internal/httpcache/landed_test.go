package httpcache

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// traveller asks for url as one who came at asked, and says what became of that.
func traveller(t *testing.T, s *engine, o *source, asked int64) *client {
	c := &client{ticket: s.Fly(&Ask{Query: get(url), Asked: asked, Late: time.Second, Fill: o.fill})}
	go c.run(t.Context())
	synctest.Wait()
	return c
}

// now is the time on the store's clock.
func (s *engine) now() int64 { return s.flights.space.Cache().Now() }

// Who asked before a flight was over takes what it brought, when it has landed too; who
// asked then, or comes when it has departed, flies anew.
func TestLateTravellers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		taken, landing := make(chan struct{}), ""
		a := shared(get(url))
		a.Keep = false
		a.After = func(b *store.Body) {
			landing = text(&store.Object{Body: b})
			<-taken
		}
		first := traveller(t, s, o, early)
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		first.want(t, Streaming, "hello", true)
		if landing != "hello" {
			t.Fatalf("its owner has %q", landing)
		}
		traveller(t, s, o, s.now()).want(t, Whole, "hello", true)
		if n := s.Stats().Running; n != 1 {
			t.Errorf("%d flights run while its owner takes it", n)
		}
		time.Sleep(time.Millisecond)
		close(taken)
		synctest.Wait()
		over := s.now()
		time.Sleep(time.Millisecond)
		traveller(t, s, o, early).want(t, Whole, "hello", true)
		traveller(t, s, o, over).want(t, Whole, "hello", true)
		if s.Stats().Staying == 0 || o.asks() != 1 {
			t.Errorf("asked %d times, %+v", o.asks(), s.Stats())
		}
		traveller(t, s, o, 0)
		if o.asks() != 2 {
			t.Errorf("who does not say when it asked: asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		traveller(t, s, o, over+1)
		if o.asks() != 3 {
			t.Errorf("who asked when it was over: asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		time.Sleep(time.Second)
		traveller(t, s, o, early)
		if o.asks() != 4 {
			t.Errorf("who comes when it has departed: asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		if st := s.Stats(); st.Staying != 0 || st.Lent != 0 || len(s.shardOf([]byte(url)).byKey) != 0 {
			t.Errorf("something is left: %+v", st)
		}
	})
}

// A flight that all have left goes on with an answer that is not stored only where others
// may come late for it, and little of it is missing.
func TestLeftForLatecomers(t *testing.T) {
	f := func(name string, l FlightLimits, late time.Duration, goesOn bool) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, l), newSource()
				early := s.now() + 1
				time.Sleep(time.Millisecond)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				c := &client{ticket: s.Fly(&Ask{Query: get(url), Asked: early, Late: late, Fill: o.fill})}
				go c.run(ctx)
				a := shared(get(url))
				a.Keep = false
				o.head(a, 5)
				o.send("he")
				leave()
				synctest.Wait()
				if err := o.ctx.Err(); (err == nil) != goesOn {
					t.Fatalf("its origin is read on: %v", err == nil)
				}
				if goesOn {
					o.send("llo")
					o.end(nil)
					traveller(t, s, o, early).want(t, Whole, "hello", true)
				}
				if st := s.Stats(); o.asks() != 1 || (st.Abandoned == 0) != goesOn {
					t.Errorf("asked %d times, %+v", o.asks(), st)
				}
			})
		})
	}
	f("short", FlightLimits{Finish: 3}, time.Second, true)
	f("long", FlightLimits{Finish: 2}, time.Second, false)
	f("nobody is late", FlightLimits{Finish: 3}, 0, false)
}

// Of flights for the same that have landed only the last stays, however many there were.
// A failure does not take the place of an answer.
func TestLastLanded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, FlightLimits{})
		early, one := s.now()+1, int64(0)
		for _, body := range []string{"one", "two", "three", ""} {
			time.Sleep(time.Millisecond)
			o := newSource()
			c := traveller(t, s, o, s.now())
			if body == "" {
				o.fail(&origin.Fault{Kind: origin.Timeout, Err: errors.New("late")})
				break
			}
			a := shared(get(url))
			a.Keep = false
			o.head(a, int64(len(body)))
			o.send(body)
			o.end(nil)
			c.want(t, Streaming, body, true)
			if body == "one" {
				one = s.Stats().Staying
			}
		}
		flights := s.shardOf([]byte(url)).byKey[url]
		if st := s.Stats(); len(flights) != 2 || st.Staying < one || st.Staying > 2*one+8 {
			t.Errorf("%d flights stay, with %d bytes; one took %d", len(flights), st.Staying, one)
		}
		traveller(t, s, newSource(), early).want(t, Whole, "three", true)
		time.Sleep(time.Second)
		synctest.Wait()
		if st := s.Stats(); st.Staying != 0 || len(s.shardOf([]byte(url)).byKey) != 0 {
			t.Errorf("something is left: %+v", st)
		}
	})
}

// What is to be remembered is given to all, for as long.
func TestRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		a := shared(get(url))
		a.Keep, a.Remember = false, 3*time.Second
		traveller(t, s, o, s.now()+1)
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		for _, wait := range []time.Duration{time.Millisecond, 2 * time.Second, 998 * time.Millisecond} {
			time.Sleep(wait)
			c := traveller(t, s, o, s.now())
			if c.want(t, Whole, "hello", true); !c.ticket.remembered || o.asks() != 1 {
				t.Fatalf("remembered: %v, asked %d times", c.ticket.remembered, o.asks())
			}
		}
		time.Sleep(time.Millisecond)
		traveller(t, s, o, s.now())
		if o.asks() != 2 || s.Stats().Staying != 0 {
			t.Errorf("asked %d times, %+v", o.asks(), s.Stats())
		}
		o.fail(errors.New("no"))
	})
}

// What is remembered keeps nobody from asking for it anew who has it renewed, but whoever
// asked before it came takes it for the renewal.
func TestRememberedIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		renew := func(asked int64) bool {
			begun := s.Refresh(&Ask{Query: get(url), Asked: asked, Late: time.Second, Fill: o.fill})
			synctest.Wait()
			return begun
		}
		if !renew(early) {
			t.Fatal("the first is not begun")
		}
		a := shared(get(url))
		a.Keep, a.Remember = false, time.Minute
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		time.Sleep(time.Millisecond)
		if renew(early) {
			t.Error("it is begun for who asked before the last one was over")
		}
		if !renew(s.now()) || o.asks() != 2 {
			t.Errorf("it is not begun anew; asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
	})
}

// An origin's failure is one for those who had asked before; a failure of ours, or that
// nobody wanted it any more, is not.
func TestLateForAFailure(t *testing.T) {
	f := func(name string, err error, asks int) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, FlightLimits{}), newSource()
				early := s.now() + 1
				time.Sleep(time.Millisecond)
				traveller(t, s, o, early)
				o.fail(err)
				c := traveller(t, s, o, early)
				if o.asks() != asks || asks == 1 && !errors.Is(c.err, err) {
					t.Errorf("asked %d times; %v", o.asks(), c.err)
				}
				if asks > 1 {
					o.fail(err)
				}
			})
		})
	}
	f("origin", &origin.Fault{Kind: origin.Timeout, Err: errors.New("late")}, 1)
	f("ours", ErrPanicked, 2)
	f("unwanted", ErrUnwanted, 2)
}

// Who has learned of a failure and flies anew is not given the same one again.
func TestAfterAFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		first := traveller(t, s, o, early)
		o.fail(&origin.Fault{Kind: origin.Reset, Err: errors.New("reset")})
		again := &client{ticket: s.Fly(&Ask{Query: get(url), Asked: early, After: first.ticket.flight, Late: time.Second, Fill: o.fill})}
		go again.run(t.Context())
		synctest.Wait()
		o.head(shared(get(url)), 5)
		o.send("hello")
		o.end(nil)
		again.want(t, Streaming, "hello", true)
		if o.asks() != 2 {
			t.Errorf("asked %d times", o.asks())
		}
	})
}

// Nothing stays that was not held as a whole, or would take too much.
func TestWhatDoesNotStay(t *testing.T) {
	f := func(name string, l FlightLimits, length int64, body string, err error, after string) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, l), newSource()
				early, had := s.now()+1, "nothing"
				time.Sleep(time.Millisecond)
				a := shared(get(url))
				a.Keep, a.After = false, func(b *store.Body) {
					if had = "no body"; b != nil {
						had = text(&store.Object{Body: b})
					}
				}
				traveller(t, s, o, early)
				o.head(a, length)
				o.send(body)
				o.end(err)
				traveller(t, s, o, early)
				if had != after || o.asks() != 2 {
					t.Errorf("its owner has %s, asked %d times", had, o.asks())
				}
				o.fail(errors.New("no"))
			})
		})
	}
	f("too long", FlightLimits{Stored: store.Limits{MaxObject: smallestChunk}}, -1, strings.Repeat("x", smallestChunk+1), nil, "no body")
	f("cut", FlightLimits{}, 10, "hello", errors.New("cut"), "no body")
	f("too much", FlightLimits{Flying: 100}, 5, "hello", nil, "hello")
}

// A flight that has landed lets go of whoever has asked the origin for it.
func TestLandedWithoutItsErrand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, FlightLimits{}), newSource()
		depart := func() weak.Pointer[[1 << 16]byte] {
			errand := new([1 << 16]byte)
			ask := &Ask{Query: get(url), Asked: s.now() + 1, Late: time.Second, Fill: func(ctx context.Context, f *Flight) (*Answer, error) {
				errand[0]++
				return o.fill(ctx, f)
			}}
			time.Sleep(time.Millisecond)
			c := &client{ticket: s.Fly(ask)}
			go c.run(t.Context())
			return weak.Make(errand)
		}
		errand := depart()
		synctest.Wait()
		o.head(shared(get(url)), 5)
		o.send("hello")
		o.end(nil)
		synctest.Wait()
		for range 5 {
			runtime.GC()
		}
		if s.Stats().Staying == 0 {
			t.Fatal("it has not landed")
		}
		if errand.Value() != nil {
			t.Error("what asked the origin is kept")
		}
	})
}
