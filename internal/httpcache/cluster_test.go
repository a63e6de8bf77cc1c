package httpcache

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newPair returns two services with caches of their own before one origin, as one cluster.
func newPair(t *testing.T, script func(*asked)) (a, b *site, cl *clustertest.Cluster) {
	t.Helper()
	o := newRawOrigin(t, &rawOrigin{script: script})
	a, b = newSiteWithOrigin(t, o), newSiteWithOrigin(t, o)
	return a, b, clustertest.Connect(a.space.Cache(), b.space.Cache())
}

// wantStatus checks the Cache-Status of a request.
func (s *site) wantStatus(line, want string) {
	s.t.Helper()
	if g := s.ask(line); g.status != 200 || !strings.Contains(g.get("Cache-Status"), want) {
		s.t.Errorf("%s: got %d, %s; want %s", line, g.status, g.get("Cache-Status"), want)
	}
}

// An unsafe method at one node invalidates the URL, and the ones that the answer names, at another
// before its client is answered.
func TestWritesReachOtherNodes(t *testing.T) {
	f := func(name, request string, answer func(*asked), status int, stale ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			a, b, cl := newPair(t, func(a *asked) {
				if strings.HasPrefix(a.head, "GET ") {
					a.ok("hello")
					return
				}
				answer(a)
			})
			for _, url := range []string{"/a", "/b", "/c"} {
				b.ask("GET " + url)
				b.wantStatus("GET "+url, "kasoku; hit")
			}
			if g := a.ask(request, "Content-Length: 0"); g.status != status {
				t.Errorf("got %d %s, want %d", g.status, g.body, status)
			}
			if status == 502 {
				await.Until(t, func() bool { return fmt.Sprint(cl.Rounds()) == "[unknown]" })
			}
			for _, url := range []string{"/a", "/b", "/c"} {
				want := "kasoku; hit"
				if strings.Contains(strings.Join(stale, " "), url) {
					want = "fwd="
				}
				b.wantStatus("GET "+url, want)
			}
		})
	}
	ok := func(a *asked) { a.ok("done") }
	f("POST", "POST /a", ok, 200, "/a")
	f("Location", "PUT /a", func(a *asked) { a.respond("HTTP/1.1 201 Created\nLocation: /b\nContent-Length: 0\n\n") }, 201, "/a", "/b")
	f("failed", "DELETE /a", func(a *asked) { a.respond("HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n") }, 403)
	f("unknown", "POST /a", func(a *asked) { a.conn.Close() }, 502, "/a")
}

// A node without a lease sends no write, and a write whose effect the other nodes do not get is an
// error for its client. They get it later.
func TestWriteWithoutCluster(t *testing.T) {
	var writes atomic.Int32
	a, b, cl := newPair(t, func(a *asked) {
		if !strings.HasPrefix(a.head, "GET ") {
			writes.Add(1)
		}
		a.ok("hello")
	})
	b.ask("GET /a")
	cl.Refuse(cache.ErrIsolated)
	if g := a.ask("POST /a", "Content-Length: 0"); g.status != 504 || !strings.Contains(g.body, "executed") {
		t.Errorf("not invalidated: got %d %s", g.status, g.body)
	}
	b.wantStatus("GET /a", "kasoku; hit")
	cl.Refuse(nil)
	await.Until(t, func() bool { return strings.Contains(fmt.Sprint(cl.Rounds()), "unknown") })
	b.wantStatus("GET /a", "fwd=")
	if n := writes.Load(); n != 1 {
		t.Fatalf("got %d writes, want 1", n)
	}

	a.space.Cache().SetLease(0)
	if g := a.ask("POST /a", "Content-Length: 0"); g.status != 503 || g.get("Retry-After") != "1" || !strings.Contains(g.body, "not executed") {
		t.Errorf("without a lease: got %d %s, Retry-After %s", g.status, g.body, g.get("Retry-After"))
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("got %d writes, want none without a lease", n-1)
	}
}

// If the lease ends while a client sends a body, the origin does not get its end, and the URL is in
// quarantine: what the origin does with the part is unknown.
func TestUploadThatLosesLease(t *testing.T) {
	var reads atomic.Int64
	begun, received := make(chan struct{}), make(chan string, 1)
	o := newRawOrigin(t, &rawOrigin{whole: func(r *bufio.Reader, w io.Writer) {
		for {
			head, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if head.Method == http.MethodGet {
				reads.Add(1)
				io.WriteString(w, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhello")
				continue
			}
			first := make([]byte, 5)
			io.ReadFull(head.Body, first)
			close(begun)
			rest, _ := io.ReadAll(head.Body)
			received <- string(first) + string(rest)
			return
		}
	}})
	s := newSiteWithOrigin(t, o)
	cl := s.space.Cache()
	clustertest.Connect(cl)
	s.ask("GET /a")
	c := s.dial()
	c.send("POST /a HTTP/1.1\nHost: site\nContent-Length: 10\n\nfirst")
	<-begun
	cl.SetLease(0)
	io.WriteString(c, "later")
	if g := c.rest(c.head(), "POST"); g.status != 504 {
		t.Errorf("got %s, want 504", g)
	}
	cl.SetLease(math.MaxInt64)
	if got := s.readTwice(func() int { return int(reads.Load()) }); got != [2]int{1, 1} {
		t.Errorf("two reads: the origin got %v requests, want one each", got)
	}
	if got := <-received; strings.Contains(got, "later") {
		t.Errorf("the origin got %s", got)
	}
}

// With isolated_writes: pass, a node without a lease sends writes.
func TestPassIsolatedWrite(t *testing.T) {
	a, _, _ := newPair(t, func(a *asked) { a.ok("hello") })
	a.space.Cache().PassIsolated()
	a.space.Cache().SetLease(0)
	if g := a.ask("POST /a", "Content-Length: 0"); g.status != 200 {
		t.Errorf("got %d %s", g.status, g.body)
	}
}

// A read without a lease is sent to the origin, and its answer is not stored.
func TestReadWithoutLease(t *testing.T) {
	s := newSite(t, func(a *asked) { a.ok(fmt.Sprint(a.n)) })
	s.ask("GET /a")
	s.wantStatus("GET /a", "kasoku; hit")
	s.space.Cache().SetLease(0)
	for n := 2; n < 4; n++ {
		if g := s.ask("GET /a"); g.body != fmt.Sprint(n) || !strings.Contains(g.get("Cache-Status"), "fwd=miss; detail=isolated") {
			t.Errorf("got %s, %s", g.body, g.get("Cache-Status"))
		}
	}
	e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site/a"})
	if err != nil || e.Decision != "miss-isolated" {
		t.Errorf("explain: got %v, %v", e, err)
	}
	s.space.Cache().SetLease(1 << 62)
	if g := s.ask("GET /a"); g.body != "1" {
		t.Errorf("with a lease again: got %s, want the stored answer", g.body)
	}
}

// A request without a lease does not join a flight.
func TestFlightIsNotJoinedWithoutLease(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan struct{}, 2)
	s := newSite(t, func(a *asked) {
		arrived <- struct{}{}
		<-release
		a.ok(fmt.Sprint(a.n))
	})
	answers := make(chan *got, 2)
	for range 2 {
		go func() { answers <- s.ask("GET /a") }()
		<-arrived
		s.space.Cache().SetLease(0)
	}
	close(release)
	if one, two := <-answers, <-answers; one.body == two.body {
		t.Errorf("both got the answer %s", one.body)
	}
}

func TestPurgeOfURLReachesOtherNodes(t *testing.T) {
	a, b, cl := newPair(t, func(a *asked) { a.ok("hello") })
	b.ask("GET /a")
	r := admin.PurgeRequest{Selector: purge.By(purge.URL, "http://site/a")}
	if _, err := a.Purge(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.wantStatus("GET /a", "fwd=")
	cl.Refuse(cache.ErrIsolated)
	if _, err := a.Purge(t.Context(), r); err == nil || !strings.Contains(err.Error(), "other nodes") {
		t.Errorf("a purge that the other nodes have not made: got %v", err)
	}
}

// A response on disk is not used after the cache was emptied before the origin has confirmed it.
// Then it is not sent again.
func TestDiskAfterEmpty(t *testing.T) {
	f := func(name string, second func(*asked), status int, length int, cacheStatus string, rereads int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s, _ := newDiskSite(t, filepath.Join(t.TempDir(), "cache"), func(a *asked) {
				if a.n == 1 {
					a.ok(longBody(onDiskBody), `ETag: "1"`, "Cache-Control: max-age=60, stale-if-error=600")
				} else {
					second(a)
				}
			})
			defer s.stop()
			s.ask("GET /a")
			s.wantStatus("GET /a", "kasoku; hit")
			s.space.Cache().Empty()
			g := s.ask("GET /a")
			if g.status != status || len(g.body) != length || !strings.Contains(g.get("Cache-Status"), cacheStatus) {
				t.Errorf("got %d, %d bytes, %s; want %d, %d, %s", g.status, len(g.body), g.get("Cache-Status"), status, length, cacheStatus)
			}
			if all := s.origin.requests(); !strings.Contains(all[1], `If-None-Match: "1"`) {
				t.Errorf("the origin got %s, want a conditional request", all[1])
			}
			before := len(s.origin.requests())
			s.ask("GET /a")
			if n := len(s.origin.requests()) - before; n != rereads {
				t.Errorf("%d requests to the origin for the next read, want %d", n, rereads)
			}
		})
	}
	f("confirmed", func(a *asked) { a.respond("HTTP/1.1 304 Not Modified\nETag: \"1\"\nCache-Control: max-age=60\n\n") }, 200, onDiskBody, "fwd-status=304", 0)
	f("replaced", func(a *asked) { a.ok("new") }, 200, 3, "fwd=stale; detail=invalidated; stored", 0)
	f("failed", func(a *asked) { a.respond("HTTP/1.1 500 Oops\nContent-Length: 0\n\n") }, 500, 0, "", 1)
	f("silent", func(a *asked) { a.conn.Close() }, 502, len("Bad Gateway: the origin ended the connection without an answer\n"), "", 1)
}

// What was invalidated before the cache was emptied, or is afterwards, is not confirmed but fetched.
func TestDiskInvalidatedAndEmptied(t *testing.T) {
	f := func(name string, do func(s *site)) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			s, _ := newDiskSite(t, filepath.Join(t.TempDir(), "cache"), respondLong)
			defer s.stop()
			s.ask("GET /a")
			do(s)
			s.ask("GET /a")
			if all := s.origin.requests(); len(all) != 2 || strings.Contains(all[1], "If-None-Match") {
				t.Errorf("the origin got %d requests, and last %s", len(all), all[len(all)-1])
			}
		})
	}
	purgeAll := func(s *site, sel purge.Selector) {
		if _, err := s.Purge(s.t.Context(), admin.PurgeRequest{Selector: sel}); err != nil {
			s.t.Error(err)
		}
	}
	empty := func(s *site) { s.space.Cache().Empty() }
	f("purged before", func(s *site) { purgeAll(s, purge.By(purge.URL, "http://site/a")); empty(s) })
	f("purged after", func(s *site) { empty(s); purgeAll(s, purge.By(purge.URL, "http://site/a")) })
	f("purged by tag after", func(s *site) { empty(s); purgeAll(s, purge.By(purge.Tag, "all")) })
	f("purged by prefix after", func(s *site) { empty(s); purgeAll(s, purge.By(purge.Prefix, "/")) })
}

// A purge by any selector, and groups that an answer invalidates, reach the other nodes before
// they are answered.
func TestPurgesReachOtherNodes(t *testing.T) {
	f := func(name string, purgeAt func(a *site), gone ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			a, b, _ := newPair(t, func(a *asked) {
				if strings.HasPrefix(a.head, "POST ") {
					a.respond("HTTP/1.1 200 OK\nCache-Group-Invalidation: \"g\"\nContent-Length: 0\n\n")
					return
				}
				a.respond("HTTP/1.1 200 OK\nCache-Control: max-age=60\nSurrogate-Key: tag" + strings.Fields(a.head)[1] + "\nCache-Groups: \"g\"\nContent-Length: 2\n\nhi")
			})
			urls := []string{"/a", "/ab", "/c"}
			for _, url := range urls {
				b.ask("GET " + url)
				b.wantStatus("GET "+url, "kasoku; hit")
			}
			purgeAt(a)
			for _, url := range urls {
				want := "kasoku; hit"
				if slices.Contains(gone, url) {
					want = "fwd="
				}
				b.wantStatus("GET "+url, want)
			}
		})
	}
	by := func(kind purge.Kind, text string) func(*site) {
		return func(a *site) {
			a.t.Helper()
			if _, err := a.Purge(a.t.Context(), admin.PurgeRequest{Selector: purge.By(kind, text)}); err != nil {
				a.t.Error(err)
			}
		}
	}
	f("all", by(purge.All, ""), "/a", "/ab", "/c")
	f("prefix", by(purge.Prefix, "/a"), "/a", "/ab")
	f("pattern", by(purge.Pattern, "/*b"), "/ab")
	f("tag", by(purge.Tag, "tag/c"), "/c")
	f("group", func(a *site) { a.ask("POST /elsewhere", "Content-Length: 0") }, "/a", "/ab", "/c")
}

// A purge that the other nodes could not make is an error, though this node has made it.
func TestPurgeWithoutCluster(t *testing.T) {
	a, b, cl := newPair(t, func(a *asked) { a.ok("hello") })
	a.ask("GET /a")
	b.ask("GET /a")
	cl.Refuse(cache.ErrIsolated)
	for _, kind := range []purge.Selector{purge.By(purge.Prefix, "/"), purge.By(purge.URL, "http://site/a")} {
		if _, err := a.Purge(t.Context(), admin.PurgeRequest{Selector: kind}); err == nil || errors.Is(err, admin.ErrInput) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	a.wantStatus("GET /a", "fwd=")
	b.wantStatus("GET /a", "kasoku; hit")
}
