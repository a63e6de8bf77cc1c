package httpcache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/flight"
)

// rangeOf returns the range in a request to the origin, "" if there is none.
func rangeOf(head string) string {
	_, text, _ := strings.Cut(head, "\nRange: ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// The origin is asked once for any number of requests for the same range, and all get the
// bytes as they arrive.
func TestOneRequestForARange(t *testing.T) {
	const clients = 200
	part := "HTTP/1.1 206 Partial Content\nETag: \"1\"\nContent-Range: bytes 2-5/10\n%s\n\n"
	f := func(name, response string, status int, body, contentRange string, change ...func(*Config)) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newSite(t, func(a *asked) {
				<-gate
				a.respond(response)
			}, change...)
			closeWhen(t, gate, func() bool { return s.Stats().Joined == clients-1 })
			for i, g := range s.crowd(clients, "GET /a", "Range: bytes=2-5") {
				if g.status != status || g.body != body || g.cut || g.get("Content-Range") != contentRange {
					t.Fatalf("client %d: %s", i, g)
				}
			}
			asked := s.origin.requests()
			if len(asked) != 1 || rangeOf(asked[0]) != "bytes=2-5" {
				t.Errorf("%d requests at the origin:\n%s", len(asked), strings.Join(asked, "\n"))
			}
		})
	}
	f("length", fmt.Sprintf(part, "Cache-Control: max-age=60\nContent-Length: 4")+"2345", 206, "2345", "bytes 2-5/10")
	f("chunks", fmt.Sprintf(part, "Cache-Control: max-age=60\nTransfer-Encoding: chunked")+"4\r\n2345\r\n0\r\n\r\n", 206, "2345", "bytes 2-5/10")
	f("too large to keep", fmt.Sprintf(part, "Cache-Control: max-age=60\nContent-Length: 4")+"2345", 206, "2345", "bytes 2-5/10",
		func(c *Config) { c.MaxObject = 1 })
	f("the whole body", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 10\n\n0123456789", 206, "2345", "bytes 2-5/10")
	f("an error for all", "HTTP/1.1 404 Not Found\nCache-Control: max-age=60\nContent-Length: 4\n\ngone", 404, "gone", "")
}

// A request for another range, or one whose answer cannot be shared, asks the origin itself.
func TestRangesOfTheirOwn(t *testing.T) {
	f := func(name, control string, want int, asks ...string) {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			s := newSite(t, func(a *asked) {
				<-gate
				var from, to int
				fmt.Sscanf(rangeOf(a.head), "bytes=%d-%d", &from, &to)
				a.respond(fmt.Sprintf("HTTP/1.1 206 Partial Content\nETag: \"1\"\nCache-Control: %s\nContent-Range: bytes %d-%d/10\nContent-Length: %d\n\n%s",
					control, from, to, to-from+1, "0123456789"[from:to+1]))
			})
			all := make([]*client, len(asks))
			for i, ask := range asks {
				all[i] = s.dial()
				all[i].send("GET /a HTTP/1.1\nHost: site\n" + ask)
			}
			waitFor(t, func() bool { return len(s.origin.requests())+int(s.Stats().Joined) == len(asks) })
			close(gate)
			for i, c := range all {
				var from, to int
				fmt.Sscanf(rangeOf("\n"+asks[i]), "bytes=%d-%d", &from, &to)
				if g := c.head(); c.rest(g, "GET").status != 206 || g.body != "0123456789"[from:to+1] {
					t.Errorf("%s: got %s", asks[i], g)
				}
			}
			if n := len(s.origin.requests()); n != want {
				t.Errorf("the origin got %d requests, want %d", n, want)
			}
		})
	}
	const same = "Range: bytes=2-5"
	f("the same", "max-age=60", 1, same, same)
	f("others", "max-age=60", 2, same, "Range: bytes=3-5")
	f("conditions", "max-age=60", 2, same+"\nIf-None-Match: \"2\"", same+"\nIf-None-Match: \"2\"")
	f("other versions", "max-age=60", 2, same+"\nIf-Range: \"1\"", same)
	f("the same version", "max-age=60", 1, same+"\nIf-Range: \"1\"", same+"\nIf-Range: \"1\"")
	f("credentials", "max-age=60", 2, same+"\nAuthorization: x", same+"\nAuthorization: x")
	f("not for all", "private", 3, same, same, same)
}

// A part that was not requested is forwarded, and stored under its own range.
func TestOtherPartThanRequested(t *testing.T) {
	s := newSite(t, func(a *asked) {
		a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nContent-Range: bytes 0-4/10\nContent-Length: 5\n\n01234")
	})
	for range 2 {
		if g := s.ask("GET /a", "Range: bytes=5-9"); g.status != 206 || g.body != "01234" || g.get("Content-Range") != "bytes 0-4/10" {
			t.Errorf("got %s", g)
		}
	}
	if g := s.ask("GET /a", "Range: bytes=1-2"); g.body != "12" || len(s.origin.requests()) != 2 {
		t.Errorf("%s after %d requests", g, len(s.origin.requests()))
	}
}

// A request for the whole does not use a part, and one for a range uses the stored part that
// contains it, in whichever order parts were stored.
func TestPartIsNotUsedAsWhole(t *testing.T) {
	gate := make(chan struct{})
	s := newSite(t, func(a *asked) {
		switch rangeOf(a.head) {
		case "":
			a.respond("HTTP/1.1 200 OK\nCache-Control: no-store\nContent-Length: 10\n\n0123456789")
		case "bytes=0-1":
			<-gate
			a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nContent-Range: bytes 0-1/10\nContent-Length: 2\n\n01")
		default:
			a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nContent-Range: bytes 8-9/10\nContent-Length: 2\n\n89")
		}
	})
	c := s.dial()
	c.send("GET /a HTTP/1.1\nHost: site\nRange: bytes=0-1")
	waitFor(t, func() bool { return len(s.origin.requests()) == 1 })
	if g := s.ask("GET /a"); g.status != 200 || g.body != "0123456789" {
		t.Errorf("the whole: %s", g)
	}
	close(gate)
	if g := c.head(); c.rest(g, "GET").body != "01" {
		t.Errorf("the part: %s", g)
	}
	s.ask("GET /a", "Range: bytes=8-9")
	asked := len(s.origin.requests())
	for _, r := range []string{"0-1", "8-9", "1-1", "9-9"} {
		if g := s.ask("GET /a", "Range: bytes="+r); g.status != 206 || !strings.Contains(g.get("Cache-Status"), "; hit") {
			t.Errorf("%s: got %s", r, g)
		}
	}
	if n := len(s.origin.requests()); n != asked {
		t.Errorf("%d more requests at the origin", n-asked)
	}
}

// Bodies that are collected for one client share the memory limit of flights.
func TestOwnAnswersAreBounded(t *testing.T) {
	const size = 300 * kib
	body := strings.Repeat("x", size)
	f := func(maxHeld int64, kept bool) {
		t.Helper()
		s := newSite(t, func(a *asked) {
			if strings.HasPrefix(a.head, "POST ") {
				a.ok(body, "Content-Location: /b")
				return
			}
			a.respond(fmt.Sprintf("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nContent-Range: bytes 0-%d/%d\nContent-Length: %d\n\n%s", size-1, 2*size, size, body))
		})
		s.flights.SetLimits(flight.Limits{MaxHeld: maxHeld})
		part := func() *got {
			return s.ask("GET /a", fmt.Sprintf("Range: bytes=0-%d", size-1), `If-None-Match: "other"`)
		}
		if g := part(); g.status != 206 || g.body != body {
			t.Fatalf("a part: %d with %d bytes", g.status, len(g.body))
		}
		if g := s.ask("POST /b", "Content-Length: 0"); g.status != 200 || g.body != body {
			t.Fatalf("an answer to POST: %d with %d bytes", g.status, len(g.body))
		}
		if n := s.Stats().Held; n != 0 {
			t.Errorf("flights hold %d bytes after the answers, want 0", n)
		}
		for _, g := range []*got{part(), s.ask("GET /b")} {
			if hit := strings.Contains(g.get("Cache-Status"), "; hit"); hit != kept {
				t.Errorf("with a limit of %d bytes: got %s, want a hit: %v", maxHeld, g.get("Cache-Status"), kept)
			}
		}
	}
	f(size, true)
	f(size-1, false)
}
