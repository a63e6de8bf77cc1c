package httpcache

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// detached returns an exchange for a request, whose head has plain line ends.
func detached(t *testing.T, head string) *edge.Exchange {
	t.Helper()
	var r http1.Request
	text := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
	if n, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil || n == 0 {
		t.Fatalf("%q: %v", head, err)
	}
	return edge.Detached(t.Context(), r, nil, time.Now())
}

// A fault in the cache does not become a failed request.
func TestFaultsPassThrough(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	store := s.store
	s.store = nil // any use of it panics
	x := detached(t, "GET /a HTTP/1.1\nHost: site")
	s.Serve(x)
	s.store = store
	if x.Reply.Status != 200 || string(x.Reply.Body) != "hello" || x.Record.Decision != telemetry.CacheFault {
		t.Fatalf("got %d %q, recorded as %s; want 200 hello as a cache fault", x.Reply.Status, x.Reply.Body, x.Record.Decision)
	}
	if n := s.metrics.faults.Value(); n != 1 {
		t.Errorf("%d faults are counted, want 1", n)
	}
}

// A request that panics leaves its flight, so that no other request waits for it.
func TestFaultsLeaveFlights(t *testing.T) {
	f := func(fields ...string) {
		t.Helper()
		gate := make(chan struct{})
		s := newSite(t, func(a *asked) {
			<-gate
			a.ok("hello")
		})
		defer close(gate)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no fault")
				}
			}()
			var r http1.Request
			text := "GET /a HTTP/1.1\r\nHost: site\r\n" + strings.ReplaceAll(joined(fields), "\n", "\r\n") + "\r\n"
			if _, err := http1.ParseRequest([]byte(text), &http1.Limits{}, &r); err != nil {
				t.Fatal(err)
			}
			var none context.Context // waiting for it panics
			s.Serve(edge.Detached(none, r, nil, time.Now()))
		}()
		if n := s.Stats().Unattended; n != 1 {
			t.Errorf("%q: %d flights have no client, want 1", fields, n)
		}
	}
	f()
	f("Range: bytes=1-2")
}

// An origin that sends no head, or stops within a body, times out.
func TestSilentOrigins(t *testing.T) {
	f := func(response string, change func(*origin.TransportConfig), status int, body string, cut bool) {
		t.Helper()
		gate := make(chan struct{})
		s := newSite(t, func(a *asked) {
			a.respond(response)
			<-gate
		}, func(c *Config) { change(&c.Group.Transport) })
		defer close(gate)
		if g := s.ask("GET /a"); g.status != status || g.body != body || g.cut != cut {
			t.Errorf("%q: got %s", response, g)
		}
	}
	const short = 20 * time.Millisecond
	f("", func(c *origin.TransportConfig) { c.HeadTimeout = short }, 504, "Gateway Timeout: the origin did not answer in time\n", false)
	f("HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 10\n\nhello",
		func(c *origin.TransportConfig) { c.StallTimeout = short }, 200, "hello", true)
}

// The request of a client that disconnects is canceled if no other client waits for the
// answer, the answer can't be stored, and the request is no write.
func TestAbandonedRequestIsCanceled(t *testing.T) {
	left := make(chan error, 1)
	s := newSite(t, func(a *asked) {
		_, err := a.conn.Read(make([]byte, 1))
		left <- err
	})
	c := s.dial()
	c.send("OPTIONS /a HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
	waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
	c.Close()
	if err := <-left; err == nil {
		t.Error("the origin received more bytes, want a closed connection")
	}
}

// A request that fails on one origin is answered by another one.
func TestAnotherOriginAnswers(t *testing.T) {
	s := newSite(t, func(a *asked) { a.conn.Close() }, func(c *Config) {
		well := newRawOrigin(t, &rawOrigin{script: func(a *asked) { a.ok("well") }})
		t.Cleanup(well.close)
		c.Group.Members = append(c.Group.Members, balance.Member{URL: "http://" + well.addr()})
	})
	for range 4 {
		if g := s.ask("GET /a", "Cache-Control: no-store, no-cache"); g.body != "well" {
			t.Fatalf("got %s", g)
		}
	}
	if n := len(s.origin.requests()); n == 0 {
		t.Error("the failing origin was never asked")
	}
}

// A drained origin gets no requests until it is undrained.
func TestDrain(t *testing.T) {
	well := newRawOrigin(t, &rawOrigin{script: func(a *asked) { a.ok("well") }})
	t.Cleanup(well.close)
	var cfg Config
	s := newSite(t, func(a *asked) { a.ok("drained") }, func(c *Config) {
		c.Drained = map[string]bool{c.Group.Members[0].URL: true}
		c.Group.Members = append(c.Group.Members, balance.Member{URL: "http://" + well.addr()})
		cfg = *c
	})
	for range 4 {
		if g := s.ask("GET /a", "Cache-Control: no-store, no-cache"); g.body != "well" {
			t.Fatalf("got %s", g)
		}
	}
	cfg.Drained = nil
	if err := s.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	for n := 0; len(s.origin.requests()) == 0; n++ {
		if s.ask("GET /a", "Cache-Control: no-store, no-cache"); n == 4 {
			t.Fatal("the origin still gets no requests")
		}
	}
}

// A no-store of one request does not mark the URL for others.
func TestNoStoreRequestDoesNotMark(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	s.ask("GET /a", "Cache-Control: no-store")
	s.ask("GET /a", "Authorization: x")
	if n := s.Stats().Marked; n != 0 {
		t.Errorf("%d URLs are marked, want 0", n)
	}
}

func FuzzConnection(f *testing.F) {
	f.Add("close, X-Hop", "websocket")
	f.Add(" , keep-alive,,\tUpgrade", "h2c, x")
	f.Fuzz(func(t *testing.T, connection, upgrade string) {
		var h connectionHeader
		if !h.read(http1.FieldsOf("Connection", connection, "Upgrade", upgrade)) {
			return
		}
		for _, name := range append([]string{"Transfer-Encoding", "Host"}, endToEnd...) {
			for _, n := range h.names {
				if ascii.EqualFold(n, name) {
					t.Fatalf("Connection: %q removes %s", connection, name)
				}
			}
		}
		if h.upgrade && !strings.Contains(strings.ToLower(connection), "upgrade") {
			t.Fatalf("Connection: %q upgrades", connection)
		}
	})
}
