package httpcache

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// dripping returns a site whose origin sends a head and then the texts that are sent to more.
// The text "cut" closes the connection, "end" ends the answer.
func dripping(t *testing.T, head string) (s *site, more chan string) {
	more = make(chan string)
	s = newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60\n" + head + "\n\n")
		for text := range more {
			if text == "cut" {
				a.conn.Close()
				return
			}
			if text == "end" {
				return
			}
			a.raw(text)
		}
	})
	t.Cleanup(func() { close(more) })
	return s, more
}

const first10, last10 = "0123456789", "abcdefghij"

// begin requests /a and reads the head of the answer.
func (s *site) begin(fields ...string) (*client, *got) {
	s.t.Helper()
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site\n" + strings.TrimSuffix(joined(fields), "\n"))
	return c, c.head()
}

// read reads n bytes of a body.
func (c *client) read(n int) string {
	c.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// A request that joins while a body is received gets the received bytes at once, also for
// ranges.
func TestFollowersDuringAFill(t *testing.T) {
	s, more := dripping(t, "Content-Length: 20")
	leader := s.dial()
	leader.send("GET /a HTTP/1.1\nHost: site")
	more <- first10
	if g := leader.head(); g.status != 200 || leader.read(10) != first10 {
		t.Fatalf("leader: %s", g)
	}
	follower, g := s.begin()
	if g.status != 200 || !strings.Contains(g.get("Cache-Status"), "collapsed") || follower.read(10) != first10 {
		t.Fatalf("follower: %s", g)
	}
	early, g := s.begin("Range: bytes=2-4")
	if early.rest(g, "GET"); g.status != 206 || g.body != "234" || g.get("Content-Range") != "bytes 2-4/20" {
		t.Fatalf("a range that has been received: %s", g)
	}
	beyond, g := s.begin("Range: bytes=20-")
	if beyond.rest(g, "GET"); g.status != 416 || g.get("Content-Range") != "bytes */20" {
		t.Fatalf("a range after the end: %s", g)
	}
	late := s.dial()
	late.send("GET /a HTTP/1.1\nHost: site\nRange: bytes=-3")
	waitFor(t, func() bool { return s.Stats().Joined == 4 })
	// The first client disconnects, and the fill continues for the others.
	leader.Close()
	more <- last10
	more <- "end"
	if got := follower.read(10); got != last10 {
		t.Fatalf("follower then: %q", got)
	}
	g = late.head()
	if late.rest(g, "GET"); g.status != 206 || g.body != "hij" || g.get("Content-Range") != "bytes 17-19/20" {
		t.Fatalf("the last bytes: %s", g)
	}
	if g := s.ask("GET /a"); g.body != first10+last10 || g.get("Age") == "" {
		t.Fatalf("hit: %s", g)
	}
	if n := len(s.origin.requests()); n != 1 {
		t.Errorf("the origin got %d requests", n)
	}
}

// A body that breaks off is cut for all clients that got bytes of it, and is not stored.
func TestCutForAll(t *testing.T) {
	f := func(name, head, first string) {
		t.Run(name, func(t *testing.T) {
			s, more := dripping(t, head)
			leader := s.dial()
			leader.send("GET /a HTTP/1.1\nHost: site")
			more <- first
			lead := leader.head()
			var all []*client
			var heads []*got
			for range 9 {
				c, g := s.begin()
				all, heads = append(all, c), append(heads, g)
			}
			more <- "cut"
			if leader.rest(lead, "GET"); !lead.cut {
				t.Fatalf("leader: %s", lead)
			}
			for i, c := range all {
				if c.rest(heads[i], "GET"); !heads[i].cut || heads[i].body != first10 {
					t.Fatalf("follower %d: %s", i, heads[i])
				}
			}
			if n := len(s.origin.requests()); n != 1 {
				t.Errorf("the origin got %d requests", n)
			}
			c := s.dial()
			c.send("GET /a HTTP/1.1\nHost: site")
			more <- first
			if g := c.head(); g.get("Age") != "" || len(s.origin.requests()) != 2 {
				t.Fatalf("again: %s", g)
			}
		})
	}
	f("length", "Content-Length: 20", first10)
	f("chunks", "Transfer-Encoding: chunked", "a\r\n"+first10+"\r\n")
}

// A client that does not read does not delay others.
func TestIdleReaderDoesNotDelayOthers(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<16)
	s := newSite(t, func(a *asked) { a.ok(body) })
	idle := s.dial()
	idle.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	idle.send("GET /a HTTP/1.1\nHost: site")
	waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
	if g := s.ask("GET /a"); g.body != body || len(s.origin.requests()) != 1 {
		t.Fatalf("got %d bytes after %d requests to the origin, want %d after 1", len(g.body), len(s.origin.requests()), len(body))
	}
}

// When all clients have disconnected, a fill that is nearly complete is completed and
// stored.
func TestFillContinuesWithoutClients(t *testing.T) {
	s, more := dripping(t, "Content-Length: 20")
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site")
	more <- first10
	c.head()
	c.Close()
	more <- last10
	more <- "end"
	waitFor(t, func() bool { return s.Stats().Stored == 1 })
	if g := s.ask("GET /a"); g.body != first10+last10 || len(s.origin.requests()) != 1 {
		t.Fatalf("%s, %d requests", g, len(s.origin.requests()))
	}
}

// A body longer than max_object is streamed to all clients that want it, and not stored.
func TestTooLargeToKeep(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<13)
	s := newSite(t, func(a *asked) { a.ok(body) }, func(c *Config) { c.MaxObject = 1 << 10 })
	for n := 1; n <= 2; n++ {
		g := s.ask("GET /a")
		if g.body != body || !strings.Contains(g.get("Cache-Status"), "detail=too-large") || len(s.origin.requests()) != n {
			t.Fatalf("%d bytes, %s, %d requests", len(g.body), g.get("Cache-Status"), len(s.origin.requests()))
		}
	}
}

// If a body breaks off before its first byte, the client that started the fetch gets the
// error, and the others share one retry.
func TestRetryWithoutBytes(t *testing.T) {
	const clients = 5
	f := func(name string, then []string, body string) {
		t.Run(name, func(t *testing.T) {
			s, more := dripping(t, "Content-Length: 20")
			leader := s.dial()
			leader.send("GET /a HTTP/1.1\nHost: site")
			waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
			all := make([]*client, clients)
			for i := range all {
				all[i] = s.dial()
				all[i].send("GET /a HTTP/1.1\nHost: site")
			}
			waitFor(t, func() bool { return s.Stats().Joined == clients })
			more <- "cut"
			if g := leader.head(); g.status != 502 {
				t.Fatalf("leader: %s", g)
			}
			waitFor(t, func() bool { return s.Stats().Joined == 2*clients-1 })
			for _, text := range then {
				more <- text
			}
			for i, c := range all {
				g := c.head()
				if c.rest(g, "GET"); g.cut || g.body != body {
					t.Errorf("client %d: %s", i, g)
				}
			}
			if n := len(s.origin.requests()); n != 2 {
				t.Errorf("the origin got %d requests", n)
			}
			if n := s.metrics.by[telemetry.Coalesced].Value() + s.metrics.by[telemetry.Miss].Value(); n != clients+1 {
				t.Errorf("%d answers are counted, want %d", n, clients+1)
			}
		})
	}
	f("the retry succeeds", []string{first10 + last10, "end"}, first10+last10)
	f("the retry fails", []string{"cut"}, "Bad Gateway: the origin ended the connection without an answer\n")
}
