package flight

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// lateClient requests url as a client whose request arrived at that time.
func lateClient(t *testing.T, s *engine, o *source, asked int64) *client {
	c := &client{waiter: s.Join(&Request{Query: get(url), Arrived: asked, Linger: time.Second, KeepFailure: func(err error) bool { return errors.As(err, new(*origin.Fault)) }, Fill: o.fill})}
	go c.run(t.Context())
	synctest.Wait()
	return c
}

// now returns the time on the store's clock.
func (s *engine) now() int64 { return s.space.Cache().Now() }

// A request that arrived before a flight ended gets its answer, also after the end. A
// request that arrived later, or joins after the flight was evicted, starts a new one.
func TestLateRequests(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		handedOver, wholeBody := make(chan struct{}), ""
		a := shared(get(url))
		a.Keep = false
		a.OnBody = func(b *store.Body) {
			wholeBody = text(&store.Object{Body: b})
			<-handedOver
		}
		first := lateClient(t, s, o, early)
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		first.want(t, Streaming, "hello", true)
		if wholeBody != "hello" {
			t.Fatalf("OnBody got %q, want hello", wholeBody)
		}
		lateClient(t, s, o, s.now()).want(t, Whole, "hello", true)
		if n := s.Stats().Running; n != 1 {
			t.Errorf("%d flights run during OnBody, want 1", n)
		}
		time.Sleep(time.Millisecond)
		close(handedOver)
		synctest.Wait()
		over := s.now()
		time.Sleep(time.Millisecond)
		lateClient(t, s, o, early).want(t, Whole, "hello", true)
		lateClient(t, s, o, over).want(t, Whole, "hello", true)
		if s.Stats().Joinable == 0 || o.asks() != 1 {
			t.Errorf("the origin was asked %d times, want once; stats %+v", o.asks(), s.Stats())
		}
		lateClient(t, s, o, 0)
		if o.asks() != 2 {
			t.Errorf("a request without Arrived: the origin was asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		lateClient(t, s, o, over+1)
		if o.asks() != 3 {
			t.Errorf("a request after the end: the origin was asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		time.Sleep(time.Second)
		lateClient(t, s, o, early)
		if o.asks() != 4 {
			t.Errorf("a request after the eviction: the origin was asked %d times", o.asks())
		}
		o.fail(errors.New("no"))
		if st := s.Stats(); st.Joinable != 0 || st.InFlight != 0 || len(s.shardOf([]byte(url)).byKey) != 0 {
			t.Errorf("flights or bytes remain: %+v", st)
		}
	})
}

// A flight without members, whose answer is not stored, continues only if late requests may
// join it and little of the body is missing.
func TestContinuesForLateRequests(t *testing.T) {
	f := func(name string, l Limits, late time.Duration, continues bool) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, l), newSource()
				early := s.now() + 1
				time.Sleep(time.Millisecond)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				c := &client{waiter: s.Join(&Request{Query: get(url), Arrived: early, Linger: late, Fill: o.fill})}
				go c.run(ctx)
				a := shared(get(url))
				a.Keep = false
				o.head(a, 5)
				o.send("he")
				leave()
				synctest.Wait()
				if err := o.ctx.Err(); (err == nil) != continues {
					t.Fatalf("the flight continues: got %v, want %v", err == nil, continues)
				}
				if continues {
					o.send("llo")
					o.end(nil)
					lateClient(t, s, o, early).want(t, Whole, "hello", true)
				}
				if st := s.Stats(); o.asks() != 1 || (st.Abandoned == 0) != continues {
					t.Errorf("the origin was asked %d times, want once; stats %+v", o.asks(), st)
				}
			})
		})
	}
	f("short", Limits{Finish: 3}, time.Second, true)
	f("long", Limits{Finish: 2}, time.Second, false)
	f("no late requests", Limits{Finish: 3}, 0, false)
}

// Of the completed flights for the same answer only the last one remains joinable. A failure
// does not replace an answer.
func TestOneCompletedFlight(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := open(t, Limits{})
		early, one := s.now()+1, int64(0)
		for _, body := range []string{"one", "two", "three", ""} {
			time.Sleep(time.Millisecond)
			o := newSource()
			c := lateClient(t, s, o, s.now())
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
				one = s.Stats().Joinable
			}
		}
		flights := s.shardOf([]byte(url)).byKey[url]
		if st := s.Stats(); len(flights) != 2 || st.Joinable < one || st.Joinable > 2*one+8 {
			t.Errorf("%d flights are kept with %d bytes, want 2; one has %d bytes", len(flights), st.Joinable, one)
		}
		lateClient(t, s, newSource(), early).want(t, Whole, "three", true)
		time.Sleep(time.Second)
		synctest.Wait()
		if st := s.Stats(); st.Joinable != 0 || len(s.shardOf([]byte(url)).byKey) != 0 {
			t.Errorf("flights or bytes remain: %+v", st)
		}
	})
}

// A remembered answer is given to all requests for the time of Answer.Remember.
func TestRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		a := shared(get(url))
		a.Keep, a.Remember = false, 3*time.Second
		lateClient(t, s, o, s.now()+1)
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		for _, wait := range []time.Duration{time.Millisecond, 2 * time.Second, 998 * time.Millisecond} {
			time.Sleep(wait)
			c := lateClient(t, s, o, s.now())
			if c.want(t, Whole, "hello", true); !c.waiter.remembered || o.asks() != 1 {
				t.Fatalf("after %v: remembered %v, asked %d times; want true, once", wait, c.waiter.remembered, o.asks())
			}
		}
		time.Sleep(time.Millisecond)
		lateClient(t, s, o, s.now())
		if o.asks() != 2 || s.Stats().Joinable != 0 {
			t.Errorf("after the answer has expired: the origin was asked %d times, want 2; stats %+v", o.asks(), s.Stats())
		}
		o.fail(errors.New("no"))
	})
}

// A remembered answer does not prevent a refresh, unless the refresh was requested before
// the answer was complete.
func TestRememberedIsRenewed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		renew := func(asked int64) bool {
			begun := s.Refresh(&Request{Query: get(url), Arrived: asked, Linger: time.Second, KeepFailure: func(err error) bool { return errors.As(err, new(*origin.Fault)) }, Fill: o.fill})
			synctest.Wait()
			return begun
		}
		if !renew(early) {
			t.Fatal("the first refresh did not start")
		}
		a := shared(get(url))
		a.Keep, a.Remember = false, time.Minute
		o.head(a, 5)
		o.send("hello")
		o.end(nil)
		time.Sleep(time.Millisecond)
		if renew(early) {
			t.Error("a refresh started although it was requested before the last one ended")
		}
		if !renew(s.now()) || o.asks() != 2 {
			t.Errorf("a later refresh did not start; the origin was asked %d times, want 2", o.asks())
		}
		o.fail(errors.New("no"))
	})
}

// A late request gets the origin's failure. It does not get a failure of the cache, or that
// of a flight that was given up.
func TestLateRequestGetsFailure(t *testing.T) {
	f := func(name string, err error, asks int) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, Limits{}), newSource()
				early := s.now() + 1
				time.Sleep(time.Millisecond)
				lateClient(t, s, o, early)
				o.fail(err)
				c := lateClient(t, s, o, early)
				if o.asks() != asks || asks == 1 && !errors.Is(c.err, err) {
					t.Errorf("the origin was asked %d times, want %d; the late request got the error %v", o.asks(), asks, c.err)
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

// A retry of a failed flight does not get the same failure again.
func TestRetryAfterFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		early := s.now() + 1
		time.Sleep(time.Millisecond)
		first := lateClient(t, s, o, early)
		o.fail(&origin.Fault{Kind: origin.Reset, Err: errors.New("reset")})
		again := &client{waiter: s.Join(&Request{Query: get(url), Arrived: early, RetryOf: first.waiter.Flight(), Linger: time.Second, Fill: o.fill})}
		go again.run(t.Context())
		synctest.Wait()
		o.head(shared(get(url)), 5)
		o.send("hello")
		o.end(nil)
		again.want(t, Streaming, "hello", true)
		if o.asks() != 2 {
			t.Errorf("the origin was asked %d times, want 2", o.asks())
		}
	})
}

// A retry that fails while another member of the first flight is about to join it is the
// last attempt for that member too.
func TestRetryFailsDuringJoin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		// As the URL varies, Join compares fields of the request with the retry's.
		german, french := get(url, "Accept-Language", "de"), get(url, "Accept-Language", "fr")
		fill(t, s, german, "hallo", "Vary", "Accept-Language")
		first := o.client(t, s, french)
		o.fail(errors.New("first"))
		request := Request{Query: french, RetryOf: first.waiter.Flight(), Fill: o.fill}
		retry := s.Join(&request)
		defer retry.Leave()
		late := get(url, "Accept-Language", "fr")
		late.OriginFields = func([]string) http1.Fields {
			if retry.Flight().failure() == nil {
				o.heads <- func(*Flight) (*Answer, error) { return nil, errors.New("second") }
			}
			for retry.Flight().failure() == nil {
				runtime.Gosched()
			}
			return late.Fields
		}
		request.Query = late
		w := s.Join(&request)
		defer w.Leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.Wait(ctx); err == nil || err.Error() != "second" || o.asks() != 2 {
			t.Errorf("got the error %v after %d requests to the origin, want the retry's error after 2", err, o.asks())
		}
	})
}

// A flight is not joinable after its end if its body was not held as a whole, or takes too
// much memory.
func TestNotJoinableAfterItsEnd(t *testing.T) {
	f := func(name string, l Limits, stored store.Limits, length int64, body string, err error, after string) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s, o := open(t, l, stored), newSource()
				early, had := s.now()+1, "nothing"
				time.Sleep(time.Millisecond)
				a := shared(get(url))
				a.Keep, a.OnBody = false, func(b *store.Body) {
					if had = "no body"; b != nil {
						had = text(&store.Object{Body: b})
					}
				}
				lateClient(t, s, o, early)
				o.head(a, length)
				o.send(body)
				o.end(err)
				lateClient(t, s, o, early)
				if had != after || o.asks() != 2 {
					t.Errorf("OnBody got %s, the origin was asked %d times; want %s, 2", had, o.asks(), after)
				}
				o.fail(errors.New("no"))
			})
		})
	}
	f("too long", Limits{}, store.Limits{MaxObject: smallestChunk}, -1, strings.Repeat("x", smallestChunk+1), nil, "no body")
	f("cut", Limits{}, store.Limits{}, 10, "hello", errors.New("cut"), "no body")
	f("too much", Limits{MaxHeld: 100}, store.Limits{}, 5, "hello", nil, "hello")
}

// A completed flight does not retain its fill.
func TestCompletedReleasesFill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, o := open(t, Limits{}), newSource()
		start := func() weak.Pointer[[1 << 16]byte] {
			captured := new([1 << 16]byte)
			ask := &Request{Query: get(url), Arrived: s.now() + 1, Linger: time.Second, Fill: func(ctx context.Context, f *Flight) (*Answer, error) {
				captured[0]++
				return o.fill(ctx, f)
			}}
			time.Sleep(time.Millisecond)
			c := &client{waiter: s.Join(ask)}
			go c.run(t.Context())
			return weak.Make(captured)
		}
		captured := start()
		synctest.Wait()
		o.head(shared(get(url)), 5)
		o.send("hello")
		o.end(nil)
		synctest.Wait()
		for range 5 {
			runtime.GC()
		}
		if s.Stats().Joinable == 0 {
			t.Fatal("the completed flight is not joinable")
		}
		if captured.Value() != nil {
			t.Error("the fill is still reachable")
		}
	})
}
