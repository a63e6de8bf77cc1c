package httpcache

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// A stored response answers conditions and ranges by itself.
func TestStoredResponseAnswers(t *testing.T) {
	const modified = "Sun, 06 Nov 1994 08:49:37 GMT"
	s := newSite(t, func(a *asked) {
		a.ok("0123456789", `ETag: "1"`, "Last-Modified: "+modified, "Content-Type: text/plain")
	})
	s.ask("GET /a")
	f := func(line string, fields []string, status int, body string, want ...string) {
		t.Helper()
		g := s.ask(line, fields...)
		if g.status != status || g.body != body || g.cut || g.get("Age") == "" && status != 416 || !strings.HasPrefix(g.get("Cache-Status"), "kasoku; hit; ttl=") {
			t.Fatalf("%s %q: got %s", line, fields, g)
		}
		for _, w := range want {
			if !strings.Contains(written(g.fields), w+"\n") {
				t.Fatalf("%s %q lacks %q: %s", line, fields, w, g)
			}
		}
		if n := len(s.origin.requests()); n != 1 {
			t.Fatalf("%s %q: %d requests at the origin", line, fields, n)
		}
	}
	f("GET /a", nil, 200, "0123456789", "Content-Length: 10", `ETag: "1"`)
	f("HEAD /a", nil, 200, "", "Content-Length: 10", `ETag: "1"`)
	f("GET /a", []string{`If-None-Match: "2", W/"1"`}, 304, "", `ETag: "1"`)
	f("GET /a", []string{`If-None-Match: "2"`, "If-Modified-Since: " + modified}, 200, "0123456789")
	f("GET /a", []string{"If-Modified-Since: " + modified}, 304, "", "Last-Modified: "+modified)
	f("HEAD /a", []string{`If-None-Match: *`}, 304, "")
	f("GET /a", []string{"Range: bytes=2-4"}, 206, "234", "Content-Range: bytes 2-4/10", "Content-Length: 3", "Content-Type: text/plain")
	f("GET /a", []string{"Range: bytes=-3"}, 206, "789", "Content-Range: bytes 7-9/10")
	f("GET /a", []string{"Range: bytes=2-4", `If-Range: "1"`}, 206, "234")
	f("GET /a", []string{"Range: bytes=2-4", `If-Range: "2"`}, 200, "0123456789")
	f("GET /a", []string{"Range: bytes=10-"}, 416, "", "Content-Range: bytes */10")
	f("GET /a", []string{"Range: lines=1-2"}, 200, "0123456789")
	f("HEAD /a", []string{"Range: bytes=2-4"}, 200, "", "Content-Length: 10")
	f("GET /a", []string{"Cache-Control: only-if-cached"}, 200, "0123456789")

	g := s.ask("GET /a", "Range: bytes=0-1, 8-")
	kind, boundary, _ := strings.Cut(g.get("Content-Type"), "; boundary=")
	want := strings.ReplaceAll("--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-1/10\r\n\r\n01\r\n"+
		"--B\r\nContent-Type: text/plain\r\nContent-Range: bytes 8-9/10\r\n\r\n89\r\n--B--\r\n", "B", boundary)
	if g.status != 206 || kind != "multipart/byteranges" || g.body != want || g.cut {
		t.Errorf("several ranges: got %s; want the body %q", g, want)
	}
}

// A request for a range that is not stored is forwarded unchanged, and the part is stored.
func TestServiceKeepsParts(t *testing.T) {
	s := newSite(t, func(a *asked) {
		if strings.Contains(a.head, "Range: bytes=2-5\n") {
			a.respond("HTTP/1.1 206 Partial Content\nCache-Control: max-age=60\nETag: \"1\"\nContent-Range: bytes 2-5/10\nContent-Length: 4\n\n2345")
			return
		}
		a.ok("0123456789", `ETag: "1"`)
	})
	f := func(status int, body string, requests int, fields ...string) {
		t.Helper()
		g := s.ask("GET /a", fields...)
		if n := len(s.origin.requests()); g.status != status || g.body != body || n != requests {
			t.Fatalf("%q: %d requests, %s", fields, n, g)
		}
	}
	f(206, "2345", 1, "Range: bytes=2-5")
	f(206, "2345", 1, "Range: bytes=2-5")
	f(206, "34", 1, "Range: bytes=3-4")
	f(200, "0123456789", 2)
	f(206, "89", 2, "Range: bytes=8-9")
}

// The fields of a 304 update the stored response, for this client and later ones.
func TestServiceValidates(t *testing.T) {
	s := newSite(t, func(a *asked) {
		switch a.n {
		case 1:
			a.respond(stale + "X-A: old\nX-B: stays\n\nhello")
		case 2:
			a.respond("HTTP/1.1 304 Not Modified\nCache-Control: max-age=60\nETag: \"1\"\nX-A: new\nContent-Length: 99\n\n")
		default:
			a.respond("HTTP/1.1 500 Internal Server Error\nContent-Length: 0\n\n")
		}
	})
	s.ask("GET /a")
	g := s.ask("GET /a")
	if g.status != 200 || g.body != "hello" || g.get("X-A") != "new" || g.get("X-B") != "stays" || g.get("Age") != "" ||
		!strings.HasPrefix(g.get("Cache-Status"), "kasoku; fwd=stale; fwd-status=304; stored; ttl=") {
		t.Fatalf("validated: %s", g)
	}
	if h := s.origin.requests()[1]; !strings.Contains(h, "If-None-Match: \"1\"\n") {
		t.Fatalf("asked:\n%s", h)
	}
	if g := s.ask("GET /a"); g.get("X-A") != "new" || g.get("Age") == "" {
		t.Fatalf("then: %s", g)
	}
}

// A 304 for another response is not used: the whole is fetched.
func TestValidationOfSomethingElse(t *testing.T) {
	s := newSite(t, func(a *asked) {
		switch a.n {
		case 1:
			a.respond(stale + "\nhello")
		case 2:
			a.respond("HTTP/1.1 304 Not Modified\nETag: \"2\"\n\n")
		default:
			a.ok("newer")
		}
	})
	s.ask("GET /a")
	if g := s.ask("GET /a"); g.status != 200 || g.body != "newer" || len(s.origin.requests()) != 3 || strings.Contains(s.origin.requests()[2], "If-None") {
		t.Fatalf("%s after\n%s", g, strings.Join(s.origin.requests(), "\n"))
	}
}

// When the origin fails, the stored response is used if that is allowed.
func TestOriginFails(t *testing.T) {
	type script = func(*asked)
	died := func(a *asked) { a.conn.Close() }
	broken := func(a *asked) { a.respond("HTTP/1.1 503 Service Unavailable\nContent-Length: 3\n\nbad") }
	fresh := func(a *asked) {
		a.respond("HTTP/1.1 503 Service Unavailable\nCache-Control: max-age=60\nContent-Length: 3\n\nbad")
	}
	f := func(name, control string, fails script, status int, body, cache string) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				if a.n == 1 && control != "" {
					a.respond("HTTP/1.1 200 OK\nAge: 100\nETag: \"1\"\nContent-Length: 5\nCache-Control: max-age=60" + control + "\n\nhello")
					return
				}
				fails(a)
			})
			if control != "" {
				s.ask("GET /a")
			}
			for range 2 {
				if g := s.ask("GET /a"); g.status != status || g.body != body || !strings.HasPrefix(g.get("Cache-Status"), cache) {
					t.Fatalf("got %s", g)
				}
			}
			if g := s.ask("HEAD /a"); g.status != status {
				t.Fatalf("HEAD: %s", g)
			}
		})
	}
	const timeoutBody = "Gateway Timeout: the origin ended the connection without an answer\n"
	f("nothing stored, no answer", "", died, 502, "Bad Gateway: the origin ended the connection without an answer\n", "")
	f("nothing stored, 503", "", broken, 503, "bad", "kasoku; fwd=uri-miss")
	f("no answer", ", public", died, 200, "hello", "kasoku; fwd=stale; detail=disconnected")
	f("503", ", public", broken, 503, "bad", "kasoku; fwd=stale; detail=no-freshness")
	f("503 that is fresh", ", public", fresh, 503, "bad", "kasoku; fwd=stale; detail=origin-error; ttl=")
	f("503, stale-if-error", ", stale-if-error=600", broken, 200, "hello", "kasoku; fwd=stale; detail=stale-if-error")
	f("no answer, must-revalidate", ", must-revalidate", died, 504, timeoutBody, "")
	f("no answer, s-maxage", ", s-maxage=60", died, 504, timeoutBody, "")
	f("no answer, proxy-revalidate", ", proxy-revalidate", died, 504, timeoutBody, "")
}

func TestOnlyIfCached(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok("hello") })
	g := s.ask("GET /a", "Cache-Control: only-if-cached")
	if g.status != 504 || !strings.HasPrefix(g.body, "Gateway Timeout: nothing that is stored") || len(s.origin.requests()) != 0 {
		t.Fatalf("got %s", g)
	}
}

// The answer to a forwarded HEAD updates the stored response.
func TestHeadUpdatesStored(t *testing.T) {
	f := func(name, head string, requests int, field string, fields ...string) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(a *asked) {
				switch {
				case strings.HasPrefix(a.head, "HEAD "):
					a.respond(head)
				case a.n == 1:
					a.respond(stale + "X-A: old\n\nhello")
				default:
					a.ok("newer")
				}
			})
			s.ask("GET /a")
			if g := s.ask("HEAD /a", fields...); g.status != 200 {
				t.Fatalf("HEAD: %s", g)
			}
			if g := s.ask("GET /a"); len(s.origin.requests()) != requests || g.get("X-A") != field {
				t.Fatalf("%d requests, then %s", len(s.origin.requests()), g)
			}
		})
	}
	f("the same", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nETag: \"1\"\nX-A: new\nContent-Length: 5\n\n", 2, "new")
	f("another", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nETag: \"2\"\nContent-Length: 5\n\n", 3, "")
	f("another length", "HTTP/1.1 200 OK\nCache-Control: max-age=60\nETag: \"1\"\nContent-Length: 6\n\n", 3, "")
	// A response that may not be stored for a GET is not stored for a HEAD either.
	f("became private", "HTTP/1.1 200 OK\nCache-Control: private, max-age=60\nETag: \"1\"\nX-A: mine\n\n", 3, "")
	f("became no-store", "HTTP/1.1 200 OK\nCache-Control: no-store\nETag: \"1\"\nX-A: mine\n\n", 3, "")
	const same = "HTTP/1.1 200 OK\nCache-Control: max-age=60\nETag: \"1\"\nX-A: mine\n\n"
	f("for one user", same, 3, "", "Authorization: x")
	f("for one request", same, 3, "", "Cache-Control: no-store")
}

// The answer to a request with credentials or no-store does not change the stored response.
func TestOneUsersValidation(t *testing.T) {
	choice := asByDefault
	f := func(response, want string, fields ...string) {
		t.Helper()
		s := newSite(t, func(a *asked) {
			if a.n == 1 {
				a.ok("hello", `ETag: "1"`, "X-A: all")
				return
			}
			a.respond(response)
		}, choice)
		s.ask("GET /a")
		s.ask("GET /a", append([]string{"Cache-Control: no-cache"}, fields...)...)
		g := s.ask("GET /a")
		if n := len(s.origin.requests()); n != 2 || g.body != "hello" || g.get("X-A")+g.get("Set-Cookie") != want {
			t.Errorf("%s %q: %d requests, then %s", response, fields, n, g)
		}
	}
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nX-A: new\n\n", "new")
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nX-A: mine\n\n", "all", "Authorization: x")
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nX-A: mine\n\n", "all", "Cache-Control: no-store")
	f("HTTP/1.1 200 OK\nCache-Control: max-age=60\nContent-Length: 4\n\nmine", "all", "Authorization: x")
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nSet-Cookie: mine\n\n", "all")
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nCache-Control: max-age=60\nSet-Cookie: mine\n\n", "all")
	choice = storeCookies
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nSet-Cookie: mine\n\n", "all")
	f("HTTP/1.1 304 Not Modified\nETag: \"1\"\nCache-Control: max-age=60\nSet-Cookie: ours\n\n", "allours")
}

// Client directives are ignored, and cookies bypass the cache, if the configuration requires
// it.
func TestClientDirectives(t *testing.T) {
	f := func(change func(*policy.Options), field string, requests int) {
		t.Helper()
		s := newSite(t, func(a *asked) { a.ok("hello") }, func(c *Config) { change(&c.Policy) })
		s.ask("GET /a")
		for range 2 {
			if g := s.ask("GET /a", field); g.body != "hello" {
				t.Fatalf("%s: got %s", field, g)
			}
		}
		if n := len(s.origin.requests()); n != requests {
			t.Errorf("%s: %d requests at the origin; want %d", field, n, requests)
		}
	}
	asIs := func(*policy.Options) {}
	f(asIs, "Cache-Control: no-cache", 3)
	f(func(o *policy.Options) { o.IgnoreRequestDirectives = true }, "Cache-Control: no-cache", 1)
	f(asIs, "Cookie: a=b", 1)
	f(func(o *policy.Options) { o.PassCookies = true }, "Cookie: a=b", 3)
}

// The metrics have a counter for every reason.
func TestMetricsHaveRoom(t *testing.T) {
	if m := (metrics{}); len(policy.Reasons) > len(m.requests) || len(policy.Reasons) > len(m.answers) {
		t.Errorf("%d reasons, but counters for %d and %d", len(policy.Reasons), len(m.requests), len(m.answers))
	}
}
