package httpcache

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/store"
)

// Clients that do not read hold no more memory than is configured, even if they request much
// more. Bodies that are being sent to them and are no longer stored reduce the cache's
// memory. When they use half of it, fetched bodies are not held as a whole. All clients get
// their answers.
func TestMemoryOfSlowClients(t *testing.T) {
	const clients, size, memory = 16, 8 << 20, 64 << 20
	body := strings.Repeat("0123456789abcdef", size/16)
	s := newSite(t, func(a *asked) { a.ok(body) }, func(c *Config) { c.MaxObject = size })
	inFlight := func() int64 { return s.Stats().InFlight }
	held := func() int64 { return int64(s.space.Usage().Bytes) + s.Stats().Held + inFlight() }
	var all []*client
	var heads []*got
	for i := range clients {
		c := s.dial()
		c.send(fmt.Sprintf("GET /%d HTTP/1.1\nHost: site", i))
		all, heads = append(all, c), append(heads, c.head())
		waitFor(t, func() bool { return s.Stats().Running == 0 || inFlight() > memory/2 })
		// When the memory is used up, one body may be in flight, and the windows of others.
		if n, limit := held(), int64(memory+size+clients*(1<<20+256<<10)); n > limit && inFlight() > 0 {
			t.Fatalf("with %d clients %d bytes are held; want at most %d", i+1, n, limit)
		}
		if i == memory/size-1 {
			waitFor(t, func() bool { s.space.Usage(); return inFlight() > memory/2 })
		}
	}
	waitFor(t, func() bool { return int64(s.space.Usage().Reserved) >= inFlight() })
	if u, st := s.space.Usage(), s.Stats(); inFlight() < memory/2 || inFlight() > memory+size || u.Bytes > u.Capacity || st.Held > clients/2*(1<<20+256<<10) {
		t.Errorf("%d bytes are in flight, flights hold %d, %+v", inFlight(), st.Held, u)
	}
	for i, c := range all {
		if g := c.rest(heads[i], "GET"); g.status != 200 || g.body != body {
			t.Errorf("client %d: %d with %d bytes", i, g.status, len(g.body))
		}
	}
	waitFor(t, func() bool { return inFlight() == 0 && s.space.Usage().Reserved == 0 && s.Stats().Running == 0 })
	s.ask("GET /again")
	if g := s.ask("GET /again"); !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit") {
		t.Errorf("after all clients have read: got %s, want a hit", g.get("Cache-Status"))
	}
}

// wantPace fails unless the client has to read that many bytes a second.
func wantPace(t *testing.T, l edge.Loan, want int64) {
	t.Helper()
	if got := l.Pace(); got != want {
		t.Fatalf("the pace is %d bytes a second, want %d", got, want)
	}
}

// Every answer whose body may be removed from the store while it is sent has a loan.
func TestStreamedAnswersHaveLoan(t *testing.T) {
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
			s.store.SetLimits(store.Limits{MaxObject: 8 << 20, MaxInFlight: 1})
			if err := s.store.Purge(context.Background(), store.Purge{}); err != nil {
				t.Fatal(err)
			}
			s.store.Sweep()
			waitFor(t, func() bool { return loan.Pace() >= 3<<20/store.DrainSeconds })
			s.store.SetLimits(store.Limits{MaxObject: 8 << 20})
		}
		x.Reply.Reset()
		if n := s.Stats().InFlight; n != 0 {
			t.Errorf("%s: %d bytes are in flight after the answer, want 0", request, n)
		}
	}
	f("GET /a HTTP/1.1", false)
	f("GET /a HTTP/1.1", true)
	s.ask("GET /a")
	f("GET /a HTTP/1.1\nRange: bytes=1-1600000,1700000-1800000", true)
}

// A body that was passed to Finished is counted while it is sent.
func TestFinishedAnswersHaveLoan(t *testing.T) {
	f := func(length int, inFlight bool) {
		t.Helper()
		body := strings.Repeat("x", length)
		p := newPlanner(t, func(a *asked) { a.ok(body) })
		p.passes, p.settled = true, make(chan WriteOutcome, 1)
		x := detached(t, "PUT / HTTP/1.1\nHost: site")
		p.Serve(x)
		if s := <-p.settled; s.Whole != (length <= maxOutcomeBody) || string(x.Reply.Body) != body {
			t.Errorf("settled as a whole: %v; %d bytes of %d sent", s.Whole, len(x.Reply.Body), length)
		}
		if n := p.Stats().InFlight; (x.Reply.Loan != nil) != inFlight || inFlight && n < int64(min(length, maxOutcomeBody+1)) || !inFlight && n != 0 {
			t.Errorf("%d bytes of %d are in flight, want any: %v", n, length, inFlight)
		}
		x.Reply.Reset()
		if n := p.Stats().InFlight; n != 0 {
			t.Errorf("%d bytes of %d are in flight after the answer, want 0", n, length)
		}
	}
	f(0, false)
	f(store.MaxCopied, false)
	f(store.MaxCopied+1, true)
	f(maxOutcomeBody, true)
	f(maxOutcomeBody+(1<<20), true)
}

// A body that is collected for a slow client is dropped while memory for fetches is scarce.
func TestCollectorGivesUp(t *testing.T) {
	f := func(other int64, after time.Duration, want bool) {
		t.Helper()
		bubble(t, func(t *testing.T) {
			c, err := cache.New(cache.Config{Memory: 64 << 20, Generations: 1 << 16})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			space, err := c.NewSpace(0)
			if err != nil {
				t.Fatal(err)
			}
			s, done := store.New(space, store.Limits{}), false
			defer s.Close()
			g := flight.NewGroup(s, space, flight.Limits{MaxHeld: 1 << 20})
			defer g.Close()
			g.Acquire(other, false)
			k := &collector{flights: g, max: 1 << 20, done: func([]byte) { done = true }}
			k.add([]byte("some"), nil)
			time.Sleep(after)
			k.add([]byte("more"), nil)
			k.add(nil, io.EOF)
			if n := g.Stats().Held; done != want || n != other {
				t.Errorf("with %d bytes held by flights, after %v: collected %v, want %v; %d bytes are held", other, after, done, want, n)
			}
			g.Release(other)
		})
	}
	f(1<<19-8, time.Hour, true)
	f(1<<19+1, time.Minute, true)
	f(1<<19+1, time.Minute+1, false)
}
