package httpcache

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/purge"
)

// A successful unsafe method invalidates its target and the URLs in the answer's Location
// and Content-Location.
func TestUnsafeMethods(t *testing.T) {
	f := func(name, line, response string, dropped ...string) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				if strings.HasPrefix(a.head, "GET ") {
					a.ok("hello")
					return
				}
				a.respond(response)
			})
			for _, path := range []string{"/a", "/b", "/c"} {
				s.ask("GET " + path)
			}
			c := s.dial()
			c.send(line + " HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
			c.rest(c.head(), "POST")
			asked := len(s.origin.requests())
			for _, path := range []string{"/a", "/b", "/c"} {
				s.ask("GET " + path)
				now := len(s.origin.requests())
				if want := strings.Contains(strings.Join(dropped, " "), path); (now > asked) != want {
					t.Errorf("%s was dropped: got %v; want %v", path, now > asked, want)
				}
				asked = now
			}
		})
	}
	f("POST", "POST /a", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "/a")
	f("PUT", "PUT /a", "HTTP/1.1 204 No Content\n\n", "/a")
	f("DELETE", "DELETE /a", "HTTP/1.1 302 Found\nContent-Length: 0\n\n", "/a")
	f("unknown", "M-SEARCH /a", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "/a")
	f("refused", "POST /a", "HTTP/1.1 400 Bad Request\nContent-Length: 0\n\n")
	f("failed", "POST /a", "HTTP/1.1 500 Internal Server Error\nContent-Length: 0\n\n")
	f("options", "OPTIONS /a", "HTTP/1.1 200 OK\nContent-Length: 0\n\n")
	f("location", "POST /a", "HTTP/1.1 201 Created\nLocation: /b\nContent-Location: http://site/c\nContent-Length: 0\n\n", "/a", "/b", "/c")
	f("elsewhere", "POST /a", "HTTP/1.1 201 Created\nLocation: http://other/b\nContent-Length: 0\n\n", "/a")
}

// An answer to a POST whose Content-Location is its own URL is stored, and answers a GET.
func TestPostIsStored(t *testing.T) {
	f := func(name, response string, requests int) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				if strings.HasPrefix(a.head, "GET ") {
					a.ok("older")
					return
				}
				a.respond(response)
			})
			s.ask("GET /a")
			c := s.dial()
			c.send("POST /a HTTP/1.1\nHost: site\nContent-Length: 3\n\nabc")
			if g := c.rest(c.head(), "POST"); g.body != "newer" {
				t.Fatalf("POST: %s", g)
			}
			g := s.ask("GET /a")
			if want := map[int]string{2: "newer", 3: "older"}[requests]; len(s.origin.requests()) != requests || g.body != want {
				t.Fatalf("%d requests at the origin, %s", len(s.origin.requests()), g)
			}
		})
	}
	f("its own", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Location: /a\nContent-Length: 5\n\nnewer", 2)
	f("another's", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Location: /b\nContent-Length: 5\n\nnewer", 3)
	f("without freshness", "HTTP/1.1 200 OK\nContent-Location: /a\nContent-Length: 5\n\nnewer", 3)
}

// Bodies are streamed in both directions at the same time.
func TestBodiesStreamBothWays(t *testing.T) {
	turn := make(chan string)
	s := newBareSite(t, func(r *bufio.Reader, w io.Writer) {
		for line := ""; line != "\r\n"; line, _ = r.ReadString('\n') {
		}
		for _, want := range []string{"5\r\nhello\r\n", "5\r\nthere\r\n"} {
			b := make([]byte, len(want))
			io.ReadFull(r, b)
			turn <- string(b)
			if want[3] == 'h' {
				io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
			}
		}
		b := make([]byte, 5)
		io.ReadFull(r, b)
		io.WriteString(w, "3\r\ntwo\r\n0\r\n\r\n")
		turn <- string(b)
	})
	c := s.dial()
	c.send("POST /a HTTP/1.1\nHost: site\nTransfer-Encoding: chunked")
	io.WriteString(c, "5\r\nhello\r\n")
	if got := <-turn; got != "5\r\nhello\r\n" {
		t.Fatalf("the origin got %q", got)
	}
	if g := c.head(); g.status != 200 || c.read(8) != "3\r\none\r\n" {
		t.Fatalf("got %s", g)
	}
	io.WriteString(c, "5\r\nthere\r\n")
	if got := <-turn; got != "5\r\nthere\r\n" {
		t.Fatalf("the origin got %q", got)
	}
	io.WriteString(c, "0\r\n\r\n")
	if got := <-turn; got != "0\r\n\r\n" {
		t.Fatalf("the origin got %q", got)
	}
	if got := c.read(13); got != "3\r\ntwo\r\n0\r\n\r\n" {
		t.Fatalf("the rest is %q", got)
	}
}

// Trailers are sent to clients that accept them, if the answer is not shared.
func TestTrailers(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nCache-Control: no-store\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\nX-T: 1\r\nContent-Length: 9\r\n\r\n")
	})
	f := func(want string, fields ...string) {
		t.Helper()
		c, _ := s.begin(fields...)
		if got := c.read(len(want)); got != want {
			t.Fatalf("got %q; want %q", got, want)
		}
	}
	f("5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "TE: trailers")
	f("5\r\nhello\r\n0\r\n\r\n")
}

// Trailers of a shared answer are sent to all clients that accept them and follow it. They
// are not stored.
func TestTrailersOfSharedAnswers(t *testing.T) {
	gate := make(chan struct{})
	s := newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n")
		<-gate
		a.raw("0\r\nX-T: 1\r\nContent-Length: 9\r\nX-Secret: 2\r\n\r\n")
	}, func(c *Config) { c.Policy.Strip = []string{"x-secret"} })
	leader, _ := s.begin("TE: trailers")
	with, _ := s.begin("TE: trailers")
	without, _ := s.begin()
	close(gate)
	for c, want := range map[*client]string{
		leader: "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", with: "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", without: "5\r\nhello\r\n0\r\n\r\n",
	} {
		if got := c.read(len(want)); got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
	if head := s.origin.requests()[0]; !strings.Contains(head, "TE: trailers\n") {
		t.Errorf("the origin is not asked for trailers:\n%s", head)
	}
	if g := s.ask("GET /a", "TE: trailers"); g.body != "hello" || g.get("Content-Length") != "5" || len(s.origin.requests()) != 1 {
		t.Errorf("hit: %s", g)
	}
}

// A waiting client gets the trailers also if the answer is complete when it begins to read.
func TestTrailersOfWholeAnswers(t *testing.T) {
	const clients = 20
	gate := make(chan struct{})
	s := newSite(t, func(a *asked) {
		<-gate
		a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n")
	})
	all := make([]*client, clients)
	for i := range all {
		all[i] = s.dial()
		all[i].send("GET /a HTTP/1.1\nHost: site\nTE: trailers")
	}
	waitFor(t, func() bool { return s.Stats().Joined == clients-1 })
	close(gate)
	const want = "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n"
	for i, c := range all {
		c.head()
		if got := c.read(len(want)); got != want {
			t.Errorf("client %d: got %q, want %q", i, got, want)
		}
	}
}

// Another protocol on the connection is passed both ways, until both have ended it.
func TestUpgrade(t *testing.T) {
	head := make(chan string, 1)
	s := newBareSite(t, func(r *bufio.Reader, w io.Writer) {
		var h strings.Builder
		for line := ""; line != "\r\n"; line, _ = r.ReadString('\n') {
			h.WriteString(line)
		}
		head <- h.String()
		io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nready")
		io.Copy(w, r)
	})
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site\nConnection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: y")
	g := c.head()
	if g.status != 101 || g.get("Upgrade") != "websocket" || g.get("Sec-WebSocket-Accept") != "x" || g.get("Connection") != "Upgrade" {
		t.Fatalf("got %s", g)
	}
	if h := <-head; !strings.Contains(strings.ToLower(h), "upgrade: websocket\r\n") || !strings.Contains(h, "Sec-WebSocket-Key: y\r\n") {
		t.Fatalf("the origin got\n%s", h)
	}
	if got := c.read(5); got != "ready" {
		t.Fatalf("got %q", got)
	}
	for _, text := range []string{"ping", "pong"} {
		io.WriteString(c, text)
		if got := c.read(4); got != text {
			t.Fatalf("sent %q, got %q", text, got)
		}
	}
	c.Conn.(interface{ CloseWrite() error }).CloseWrite()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		t.Fatalf("the connection ended with %q, %v", rest, err)
	}
}

// The answer of an origin that does not switch protocols is forwarded.
func TestUpgradeRefused(t *testing.T) {
	s := newSite(t, func(a *asked) { a.respond("HTTP/1.1 426 Upgrade Required\nContent-Length: 2\n\nno") })
	c := s.dial()
	for range 2 {
		if g := c.ask("GET /a", "Connection: Upgrade", "Upgrade: websocket"); g.status != 426 || g.body != "no" {
			t.Fatalf("got %s", g)
		}
	}
}

// A refused request is answered with a text and does not reach the origin.
func TestRefusals(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	f := func(status int, words, line string, fields ...string) {
		t.Helper()
		g := s.ask(line, fields...)
		if g.status != status || !strings.Contains(g.body, words) || g.get("X-Request-Id") == "" || g.get("Cache-Status") != "" {
			t.Fatalf("%s %q: got %s", line, fields, g)
		}
	}
	f(400, "Connection names", "GET /a", "Connection: close, Via")
	f(508, "has looped", "GET /a", "Via: 1.1 "+s.id)
	if n := len(s.origin.requests()); n != 0 {
		t.Errorf("the origin got %d requests", n)
	}
}

func TestServicePurges(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello", "Surrogate-Key: one two") })
	path := func() string { s.ask("GET /a?b"); return fmt.Sprint(len(s.origin.requests())) }
	f := func(r admin.PurgeRequest, dropped, requests string) {
		t.Helper()
		result, err := s.Purge(t.Context(), r)
		if err != nil || result.Dropped != dropped {
			t.Fatalf("%+v: dropped %q, error %v", r, result.Dropped, err)
		}
		if got := path(); got != requests {
			t.Fatalf("%+v: %s requests at the origin; want %s", r, got, requests)
		}
	}
	path()
	f(admin.PurgeRequest{Selector: purge.By(purge.URL, "http://site/a")}, "http://site/a", "1")
	f(admin.PurgeRequest{Selector: purge.By(purge.URL, "http://SITE:80/a?b")}, "http://SITE:80/a?b", "2")
	f(admin.PurgeRequest{Selector: purge.By(purge.Prefix, "http://site/")}, "all that begins with http://site/", "3")
	f(admin.PurgeRequest{Selector: purge.By(purge.Prefix, "/b")}, "all that begins with /b", "3")
	f(admin.PurgeRequest{Selector: purge.By(purge.Pattern, "*://s*/*?b")}, "all that matches *://s*/*?b", "4")
	f(admin.PurgeRequest{Selector: purge.By(purge.Tag, "two")}, "all that is tagged two", "5")
	f(admin.PurgeRequest{Selector: purge.By(purge.Tag, "three")}, "all that is tagged three", "5")
	f(admin.PurgeRequest{Soft: true}, "everything of service site, by marking it as stale", "6")
	f(admin.PurgeRequest{}, "everything of service site", "7")
	for _, r := range []admin.PurgeRequest{{Table: "t"}, {Selector: purge.By(purge.URL, "/a")}, {Selector: purge.By(purge.URL, "")}} {
		if _, err := s.Purge(t.Context(), r); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
	if e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site/a?b"}); err != nil || e.Decision != "hit" {
		t.Errorf("explained as %+v, %v", e, err)
	}
	if e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "/c", Headers: map[string]string{"Host": "site"}}); err != nil || e.Decision != "miss" {
		t.Errorf("explained as %+v, %v", e, err)
	}
}

func TestPurgeMethod(t *testing.T) {
	f := func(from string, status, requests int) {
		t.Helper()
		s := newSite(t, func(a *asked) { a.ok("hello") }, func(c *Config) {
			if from != "" {
				c.Purgers = []netip.Prefix{netip.MustParsePrefix(from)}
			}
		})
		s.ask("GET /a")
		if g := s.ask("PURGE /a"); g.status != status {
			t.Fatalf("from %q: %s", from, g)
		}
		s.ask("GET /a")
		if n := len(s.origin.requests()); n != requests {
			t.Fatalf("from %q: %d requests at the origin", from, n)
		}
	}
	f("127.0.0.0/8", 200, 2)
	f("10.0.0.0/8", 403, 1)
	f("", 200, 3) // any other method that is not known
}

// An Upgrade field does not bypass the invalidation by unsafe methods, and cannot switch to
// another version of HTTP.
func TestUpgradeOfOthers(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	s.ask("GET /a")
	f := func(requests int, line string, fields ...string) {
		t.Helper()
		s.ask(line, fields...)
		all := s.origin.requests()
		if len(all) != requests || strings.Contains(strings.ToLower(all[len(all)-1]), "upgrade") {
			t.Fatalf("%s %q: %d requests at the origin; want %d; the last is\n%s", line, fields, len(all), requests, all[len(all)-1])
		}
	}
	f(1, "GET /a")
	f(1, "GET /a", "Connection: upgrade", "Upgrade: h2c", "Upgrade: websocket")
	f(1, "HEAD /a", "Connection: upgrade", "Upgrade: websocket")
	f(2, "DELETE /a", "Connection: upgrade", "Upgrade: websocket")
	f(3, "GET /a")
}
