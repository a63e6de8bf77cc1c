package httpcache

import (
	"context"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/purge"
)

// A request for the whole of a response that is stored in part fetches only the rest, and
// gets the whole if the rest is of the same response.
func TestPartIsCompleted(t *testing.T) {
	const partial = "HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\n"
	const begin = "ETag: \"1\"\nX-A: old\nX-B: stays\nContent-Range: bytes 0-3/10\nContent-Length: 4\n\n0123"
	f := func(name, part, rest, body string, requests int, change ...func(*Config)) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				switch {
				case strings.Contains(a.head, "Range: bytes=0-3\n"):
					a.respond(partial + part)
				case strings.Contains(a.head, "Range: bytes=4-\n"):
					a.respond(rest)
				default:
					a.ok("whole")
				}
			}, change...)
			s.ask("GET /a", "Range: bytes=0-3")
			g := s.ask("GET /a")
			if g.status != 200 || g.cut || g.body != body || len(s.origin.requests()) != requests || g.get("Content-Range") != "" {
				t.Fatalf("after %d requests to the origin, want %d: %s", len(s.origin.requests()), requests, g)
			}
			if again := s.ask("GET /a"); again.body != body || len(s.origin.requests()) != requests {
				t.Fatalf("again: after %d requests to the origin, want %d: %s", len(s.origin.requests()), requests, again)
			}
		})
	}
	loose := func(c *Config) { c.Policy.LooseParts = true }
	f("rest", begin, partial+"ETag: \"1\"\nX-A: new\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\n456789", "0123456789", 2)
	f("whole", begin, "HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 3\n\nnew", "new", 2)
	f("another tag", begin, partial+"ETag: \"2\"\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\nxxxxxx", "whole", 3)
	f("another length", begin, partial+"ETag: \"1\"\nContent-Range: bytes 4-8/9\nContent-Length: 5\n\nxxxxx", "whole", 3)
	f("less", begin, partial+"ETag: \"1\"\nContent-Range: bytes 4-5/10\nContent-Length: 2\n\nxx", "whole", 3)
	f("private", begin, "HTTP/1.1 206 Partial Content\nCache-Control: private\nETag: \"1\"\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\nxxxxxx", "whole", 3)
	f("unsatisfiable", begin, "HTTP/1.1 416 Range Not Satisfiable\nContent-Range: bytes */3\nContent-Length: 0\n\n", "whole", 3)
	f("no tag", "Content-Range: bytes 0-3/10\nContent-Length: 4\n\n0123", partial+"Content-Range: bytes 4-9/10\nContent-Length: 6\n\n456789", "whole", 2)
	f("no tag, loosely", "Content-Range: bytes 0-3/10\nContent-Length: 4\n\n0123",
		partial+"Content-Range: bytes 4-9/10\nContent-Length: 6\n\n456789", "0123456789", 2, loose)
	f("weak tag", "ETag: W/\"1\"\nContent-Range: bytes 0-3/10\nContent-Length: 4\n\n0123",
		partial+"ETag: W/\"1\"\nContent-Range: bytes 4-9/10\nContent-Length: 6\n\n456789", "whole", 2)
}

// A completed response has the fields of the rest, and those of the part that the rest
// lacks.
func TestCompletedHead(t *testing.T) {
	s := newSite(t, func(a *asked) {
		if a.n == 1 {
			a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nX-A: old\nX-B: stays\nContent-Range: bytes 0-3/6\nContent-Length: 4\n\n0123")
			return
		}
		a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=90\nETag: \"1\"\nX-A: new\nContent-Range: bytes 4-5/6\nContent-Length: 2\n\n45")
	})
	s.ask("GET /a", "Range: bytes=0-3")
	g := s.ask("GET /a")
	if g.get("X-A") != "new" || g.get("X-B") != "stays" || g.get("Content-Length") != "6" ||
		!strings.HasPrefix(g.get("Cache-Status"), "kasoku; fwd=partial; stored") {
		t.Errorf("got %s", g)
	}
	if h := s.origin.requests()[1]; !strings.Contains(h, "If-Range: \"1\"\n") {
		t.Errorf("the origin was asked\n%s", h)
	}
}

// A part that was purged is not completed.
func TestPurgedPartIsNotCompleted(t *testing.T) {
	s := newSite(t, func(a *asked) {
		if a.n == 1 {
			a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nContent-Range: bytes 0-3/6\nContent-Length: 4\n\n0123")
			return
		}
		a.ok("whole")
	})
	s.ask("GET /a", "Range: bytes=0-3")
	if err := s.store.Purge(context.Background(), store.Purge{Selector: purge.By(purge.Prefix, "http://site/")}); err != nil {
		t.Fatal(err)
	}
	s.ask("GET /a")
	if h := s.origin.requests()[1]; strings.Contains(h, "Range:") {
		t.Errorf("the origin was asked\n%s", h)
	}
}
