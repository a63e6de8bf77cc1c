package httpcache

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// canceledExchange returns a detached exchange whose client does not wait.
func canceledExchange(t *testing.T, head string) *edge.Exchange {
	x := detached(t, head)
	ctx, end := context.WithCancel(t.Context())
	end()
	return edge.Detached(ctx, x.Request, nil, time.Now())
}

// Without memory, stored responses are served, and requests that need the origin are refused
// before they reach it.
func TestNoMemory(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello", "Vary: X") })
	s.ask("GET /stored")
	asked := len(s.origin.requests())
	s.budget.Add(s.budget.Upper())
	f := func(head string, status int) {
		t.Helper()
		x := canceledExchange(t, head+"\nHost: site")
		s.Serve(x)
		if x.Reply.Status != status {
			t.Errorf("%s: got the status %d, want %d", head, x.Reply.Status, status)
		}
		if status == 503 && (len(x.Reply.Body) > 0 || x.Record.Decision != telemetry.Local) {
			t.Errorf("%s: got the body %q, recorded as %s", head, x.Reply.Body, x.Record.Decision)
		}
		x.Reply.Reset()
	}
	f("GET /stored HTTP/1.1", 200)
	f("GET /new HTTP/1.1", 503)
	f("GET /stored HTTP/1.1\nX: other", 503)
	f("GET /new HTTP/1.1\nRange: bytes=0-1", 503)
	f("GET /new HTTP/1.1\nIf-Match: \"a\"", 503)
	f("HEAD /new HTTP/1.1", 503)
	f("POST /new HTTP/1.1", 503)
	f("GET /new HTTP/1.1\nConnection: upgrade\nUpgrade: websocket", 503)
	if n := len(s.origin.requests()); n != asked {
		t.Errorf("the origin was asked %d times without memory, want 0", n-asked)
	}
	s.budget.Add(-s.budget.Upper())
	if g := s.ask("GET /new"); g.status != 200 || g.body != "hello" {
		t.Errorf("with memory again: %v", g)
	}
	waitFor(t, func() bool { return s.budget.Stats().Held == 0 })
}

// Without memory for a request to the origin, a stale response is served where that is
// allowed.
func TestNoMemoryStale(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello", "Cache-Control: max-age=0, stale-if-error=60", "ETag: \"1\"") })
	s.ask("GET /a")
	s.budget.Add(s.budget.Upper())
	defer s.budget.Add(-s.budget.Upper())
	x := canceledExchange(t, "GET /a HTTP/1.1\nHost: site")
	s.Serve(x)
	if x.Reply.Status != 200 || string(x.Reply.Body) != "hello" {
		t.Errorf("got %d %q, want the stale response", x.Reply.Status, x.Reply.Body)
	}
}

// While memory is short, large bodies pass through a small window and are not stored. Small
// bodies are stored.
func TestShortOfMemory(t *testing.T) {
	large := strings.Repeat("x", 1<<20)
	s := newSite(t, func(a *asked) {
		if strings.HasPrefix(a.head, "GET /large") {
			a.ok(large)
			return
		}
		a.ok("hello")
	})
	s.budget.Add(40 << 20)
	maxHeld := int64(0)
	for range 2 {
		c := s.dial()
		c.send("GET /large HTTP/1.1\nHost: site")
		h := c.head()
		maxHeld = max(maxHeld, s.budget.Stats().Held)
		if g := c.rest(h, "GET"); g.body != large || !strings.Contains(h.get("Cache-Status"), "fwd=uri-miss") {
			t.Errorf("a large body: got %d bytes, %s", len(g.body), h.get("Cache-Status"))
		}
		s.ask("GET /small")
	}
	if held := maxHeld - 40<<20; held > inflight.Request+(32<<10) {
		t.Errorf("a body that is not stored holds %d bytes of the budget", held)
	}
	if g := s.ask("GET /small"); !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit") {
		t.Errorf("a small body is not stored: %s", g.get("Cache-Status"))
	}
	if n := s.budget.Stats().Unbuffered; n != 2 {
		t.Errorf("%d bodies are counted as not buffered, want 2", n)
	}
	s.budget.Add(-40 << 20)
	s.ask("GET /large")
	if g := s.ask("GET /large"); g.body != large || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit") {
		t.Errorf("afterwards: %s", g.get("Cache-Status"))
	}
	waitFor(t, func() bool { return s.budget.Stats().Held == 0 })
}
