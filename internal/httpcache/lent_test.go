package httpcache

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Clients that don't read, and want much more together than there is memory, take no more
// than there is: what they have of bodies that are stored no more is taken from the cache, and
// when that is half of it, what is fetched is not held as a whole. All of them get their answers.
func TestSlowClientsTakeNoMoreThanThereIs(t *testing.T) {
	const clients, size, memory = 16, 8 << 20, 64 << 20
	body := strings.Repeat("0123456789abcdef", size/16)
	s := newSite(t, func(a *asked) { a.ok(body) }, func(c *Config) { c.MaxObject = size })
	lent := func() int64 { return s.Stats().Lent }
	held := func() int64 { return int64(s.space.Usage().Bytes) + s.Stats().Flying + lent() }
	var all []*visitor
	var heads []*got
	for i := range clients {
		c := s.visit()
		c.send(fmt.Sprintf("GET /%d HTTP/1.1\nHost: site", i))
		all, heads = append(all, c), append(heads, c.head())
		until(t, func() bool { return s.Stats().Running == 0 || lent() > memory/2 })
		// One body may be on its way when the memory runs out, and the windows of others.
		if n, most := held(), int64(memory+size+clients*(1<<20+largestChunk)); n > most && lent() > 0 {
			t.Fatalf("with %d clients %d bytes are held; want at most %d", i+1, n, most)
		}
		if i == memory/size-1 {
			until(t, func() bool { s.space.Usage(); return lent() > memory/2 })
		}
	}
	until(t, func() bool { return int64(s.space.Usage().Reserved) >= lent() })
	if u, st := s.space.Usage(), s.Stats(); lent() < memory/2 || lent() > memory+size || u.Bytes > u.Capacity || st.Flying > clients/2*(1<<20+largestChunk) {
		t.Errorf("lent %d, flying %d, %+v", lent(), st.Flying, u)
	}
	for i, c := range all {
		if g := c.rest(heads[i], "GET"); g.status != 200 || g.body != body {
			t.Errorf("client %d: %d with %d bytes", i, g.status, len(g.body))
		}
	}
	until(t, func() bool { return lent() == 0 && s.space.Usage().Reserved == 0 && s.Stats().Running == 0 })
	s.ask("GET /again")
	if g := s.ask("GET /again"); !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit") {
		t.Errorf("nothing is kept any more: %s", g.get("Cache-Status"))
	}
}

// lentStep is in what steps the store takes memory out of its space.
const lentStep = 256 << 10

// wantLent fails if other than so much is lent, and taken out of the space.
func wantLent(t *testing.T, s *engine, want int64) {
	t.Helper()
	synctest.Wait()
	if st, u := s.Stats(), s.flights.space.Usage(); st.Lent != want || int64(u.Reserved) < want+st.Flying || int64(u.Reserved) >= want+st.Flying+3*lentStep || want+st.Flying == 0 && u.Reserved != 0 {
		t.Fatalf("%d bytes are lent, %d held by flights, %d reserved; want %d", st.Lent, st.Flying, u.Reserved, want)
	}
}

// Who has not read all that a flight has brought counts when it has ended: for the object, if
// that is stored no more, and for what it was made of.
func TestLentByFlight(t *testing.T) {
	f := func(keep bool, length int64, sizes ...int) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, FlightLimits{}), newSource()
			slow := s.Fly(&Ask{Query: get(url), Fill: o.fill})
			other := s.Fly(&Ask{Query: get(url), Fill: o.fill})
			synctest.Wait()
			a := shared(get(url))
			a.Keep = keep
			o.head(a, length)
			want := ""
			for i, n := range sizes {
				b := strings.Repeat(string(rune('a'+i)), n)
				want += b
				o.send(b)
			}
			wantLent(t, s, 0)
			o.end(nil)
			synctest.Wait()
			beside := s.Stats().Lent
			if found := s.Find(get(url)).Object; found != nil {
				s.Drop(get(url).Key, found)
			}
			synctest.Wait()
			lent := s.Stats().Lent
			if lent < int64(len(want)) || lent > 3*int64(len(want)) || (beside == lent) == keep || s.Stats().Flying != 0 {
				t.Errorf("%v: %d bytes are lent while it is stored, then %d", sizes, beside, lent)
			}
			if got := rest(t, slow); got != want {
				t.Errorf("got %d bytes", len(got))
			}
			slow.Leave()
			wantLent(t, s, lent)
			other.Leave()
			wantLent(t, s, 0)
		})
	}
	f(true, 2<<20, 1<<20, 1<<20)
	f(true, -1, 2<<20)
	f(true, -1, 100<<10, 1)
	f(true, 100<<10, 100<<10)
	f(false, 2<<20, 2<<20)
	f(false, -1, 100<<10)
}

// wantPace fails if a client has to take other than so many bytes a second.
func wantPace(t *testing.T, l edge.Loan, want int64) {
	t.Helper()
	if got := l.Pace(); got != want {
		t.Fatalf("its pace is %d bytes a second; want %d", got, want)
	}
}

// What a flight has left to a slow client is to be taken in that time as well, and the window
// of one that goes on while too much is on its way.
func TestPaceOfFlight(t *testing.T) {
	f := func(keep, ends bool, limits, less FlightLimits) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, o := open(t, limits), newSource()
			slow := s.Fly(&Ask{Query: get(url), Fill: o.fill})
			defer slow.Leave()
			synctest.Wait()
			a := shared(get(url))
			a.Keep = keep
			o.head(a, -1)
			wantPace(t, slow, 0)
			if !ends {
				o.feed(2048)
				wantPace(t, slow, 0)
				slow.flight.limits = new(less.withDefaults(1 << 30))
				wantPace(t, slow, s.Stats().Flying/store.LendSeconds)
				return
			}
			o.send(strings.Repeat("x", 1<<20))
			s.SetLimits(less)
			wantPace(t, slow, 0)
			o.end(nil)
			synctest.Wait()
			if o := s.Find(get(url)).Object; o != nil {
				wantPace(t, slow, s.Stats().Lent/store.LendSeconds)
				s.Drop(get(url).Key, o)
			}
			if got, most := slow.Pace(), s.Stats().Lent/store.LendSeconds; got < most-1 || got > most || got == 0 {
				t.Errorf("kept: %v: %d bytes a second; want %d", keep, got, most)
			}
		})
	}
	f(true, true, FlightLimits{}, FlightLimits{Stored: store.Limits{Lent: 1}})
	f(false, true, FlightLimits{}, FlightLimits{Stored: store.Limits{Lent: 1}})
	f(true, false, small, FlightLimits{Flying: 1})
}

// Every answer with a body that may leave the store meanwhile says whose memory it is.
func TestStreamedAnswersAreLent(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(strings.Repeat("0123456789abcdef", 3<<16)) }, func(c *Config) { c.MaxObject = 8 << 20 })
	f := func(request string, stored bool) {
		t.Helper()
		x := detached(t, request+"\nHost: site")
		s.Serve(x)
		loan := x.Reply.Loan
		if loan == nil || len(x.Reply.Body) < 3<<19 {
			t.Fatalf("%s: %d bytes of %v", request, len(x.Reply.Body), loan)
		}
		wantPace(t, loan, 0)
		if stored {
			s.flights.SetLimits(FlightLimits{Stored: store.Limits{MaxObject: 8 << 20, Lent: 1}})
			if err := s.store.Purge(store.Purge{All: true}); err != nil {
				t.Fatal(err)
			}
			s.store.Sweep()
			until(t, func() bool { return loan.Pace() >= 3<<20/store.LendSeconds })
			s.flights.SetLimits(FlightLimits{Stored: store.Limits{MaxObject: 8 << 20}})
		}
		x.Reply.Reset()
		if n := s.Stats().Lent; n != 0 {
			t.Errorf("%s: %d bytes stay lent", request, n)
		}
	}
	f("GET /a HTTP/1.1", false)
	f("GET /a HTTP/1.1", true)
	s.ask("GET /a")
	f("GET /a HTTP/1.1\nRange: bytes=1-1600000,1700000-1800000", true)
}

// An answer that its passage's owner has seen as a whole is lent to its client.
func TestSettledAnswersAreLent(t *testing.T) {
	f := func(length int, lent bool) {
		t.Helper()
		body := strings.Repeat("x", length)
		p := newPlanner(t, func(a *asked) { a.ok(body) })
		p.passes, p.settled = true, make(chan Settled, 1)
		x := detached(t, "PUT / HTTP/1.1\nHost: site")
		p.Serve(x)
		if s := <-p.settled; s.Whole != (length <= mostSettled) || string(x.Reply.Body) != body {
			t.Errorf("settled as a whole: %v; %d bytes of %d sent", s.Whole, len(x.Reply.Body), length)
		}
		if n := p.Stats().Lent; (x.Reply.Loan != nil) != lent || lent && n < int64(min(length, mostSettled+1)) || !lent && n != 0 {
			t.Errorf("%d bytes of %d are lent", n, length)
		}
		x.Reply.Reset()
		if n := p.Stats().Lent; n != 0 {
			t.Errorf("%d bytes of %d stay lent", n, length)
		}
	}
	f(0, false)
	f(store.MaxCopied, false)
	f(store.MaxCopied+1, true)
	f(mostSettled, true)
	f(mostSettled+(1<<20), true)
}

// Memory for fetches that gets scarce is not kept for what a slow client has begun.
func TestCollectorGivesUp(t *testing.T) {
	f := func(other int64, after time.Duration, want bool) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			s, done := open(t, FlightLimits{Flying: 1 << 20}), false
			s.flights.stats.flying.Add(other)
			k := &collector{flights: s.flights, done: func([]byte) { done = true }}
			k.take([]byte("some"), nil)
			time.Sleep(after)
			k.take([]byte("more"), nil)
			k.take(nil, io.EOF)
			if done != want || s.flights.stats.flying.Load() != other {
				t.Errorf("%d other bytes, after %v: %v, %d bytes", other, after, done, s.flights.stats.flying.Load())
			}
		})
	}
	f(1<<19-8, time.Hour, true)
	f(1<<19+1, time.Minute, true)
	f(1<<19+1, time.Minute+1, false)
}
