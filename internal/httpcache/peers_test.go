package httpcache

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/await"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newOwned returns two services as one cluster, in which b owns all keys.
func newOwned(t *testing.T, script func(*asked)) (a, b *site, cl *clustertest.Cluster) {
	t.Helper()
	a, b, cl = newPair(t, script)
	cl.Share(b.space.Cache())
	return a, b, cl
}

// A miss at one node is answered by the owner of its key, which keeps what all clients may get.
func TestPeerAnswers(t *testing.T) {
	f := func(name, answer string, request []string, fetches string, first, second string, origin int) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			a, _, cl := newOwned(t, func(x *asked) { x.respond("HTTP/1.1 " + answer) })
			var got [2]*got
			for i := range got {
				got[i] = a.ask("GET /a", request...)
				if want := [...]string{first, second}[i]; !strings.Contains(got[i].get("Cache-Status"), want) {
					t.Errorf("request %d: got %s, want %s", i, got[i].get("Cache-Status"), want)
				}
			}
			if got[0].body != "hello" || got[1].body != "hello" {
				t.Errorf("got %s, %s", got[0], got[1])
			}
			if s := fmt.Sprint(cl.Fetches()); s != fetches {
				t.Errorf("the owner was asked with results %s, want %s", s, fetches)
			}
			if n := len(a.origin.requests()); n != origin {
				t.Errorf("the origin got %d requests, want %d", n, origin)
			}
		})
	}
	const kept, ok = "200 OK\nCache-Control: max-age=60\nContent-Length: 5\n\nhello", "200 OK\nContent-Length: 5\n"
	f("kept", kept, nil, "[fill]", "fwd=uri-miss; detail=peer; stored; ttl=60", "kasoku; hit; ttl=", 1)
	f("chunked", "200 OK\nCache-Control: max-age=60\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n", nil, "[fill]", "detail=peer; stored", "kasoku; hit", 1)
	f("not found", "404 Not Found\nCache-Control: max-age=60\nContent-Length: 5\n\nhello", nil, "[fill]", "detail=peer; stored", "kasoku; hit", 1)
	f("with validator", ok+"ETag: \"1\"\nCache-Control: max-age=60\n\nhello", []string{`If-None-Match: "2"`}, "[fill]", "detail=peer", "kasoku; hit", 1)
	f("private", ok+"Cache-Control: private\n\nhello", nil, "[fill]", "fwd=uri-miss", "fwd=", 2)
	f("with cookie", ok+"Cache-Control: max-age=60\nSet-Cookie: a=b\n\nhello", nil, "[fill]", "fwd=uri-miss", "fwd=", 2)
	f("error", "500 Oops\nContent-Length: 5\n\nhello", nil, "[fill]", "fwd=uri-miss", "fwd=", 2)
	f("endless", "200 OK\nCache-Control: private\nTransfer-Encoding: chunked\n\n5\r\nhello\r\n0\r\n\r\n", []string{"Accept: text/event-stream"}, "[]", "fwd=uri-miss", "fwd=", 2)
	f("authorized", kept, []string{"Authorization: Basic eA=="}, "[]", "fwd=uri-miss", "fwd=uri-miss", 2)
	f("cookie of client", kept, []string{"Cookie: a=b"}, "[declined]", "fwd=uri-miss", "hit", 1)
	f("no-store", kept, []string{"Cache-Control: no-store"}, "[]", "fwd=uri-miss", "fwd=", 2)
	f("no-cache", kept, []string{"Cache-Control: no-cache"}, "[]", "fwd=", "fwd=", 2)
	f("validated each time", ok+"ETag: \"1\"\nCache-Control: no-cache\n\nhello", nil, "[declined]", "fwd=uri-miss", "fwd=stale", 3)
}

// The owner answers with what it has stored. It is not asked for a HEAD or a range.
func TestPeerHit(t *testing.T) {
	a, b, cl := newOwned(t, func(x *asked) { x.ok(fmt.Sprint(x.n), "Surrogate-Key: x") })
	b.ask("GET /a")
	if g := a.ask("GET /a", "Cookie: a=b"); g.body != "1" || !strings.Contains(g.get("Cache-Status"), "detail=peer") {
		t.Errorf("got %s", g)
	}
	b.ask("GET /b")
	if g := a.ask("HEAD /b"); g.status != 200 || strings.Contains(g.get("Cache-Status"), "peer") {
		t.Errorf("HEAD: got %s", g)
	}
	b.ask("GET /c")
	if g := a.ask("GET /c", "Range: bytes=0-0"); g.status != 206 || strings.Contains(g.get("Cache-Status"), "peer") {
		t.Errorf("a range: got %s", g)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[hit]" {
		t.Errorf("got %s", got)
	}
}

// The age of an answer includes the time before it arrived at the owner.
func TestPeerAge(t *testing.T) {
	a, b, _ := newOwned(t, func(x *asked) { x.ok("hello", "Age: 20") })
	b.ask("GET /a")
	for _, want := range []string{"detail=peer", "kasoku; hit"} {
		g := a.ask("GET /a")
		if age, _ := strconv.Atoi(g.get("Age")); age < 20 || age > 50 || strings.Count(written(g.fields), "Age:") != 1 || !strings.Contains(g.get("Cache-Status"), want) {
			t.Errorf("got the fields %s, want an age of at least 20", written(g.fields))
		}
	}
}

// An answer that is not fresh any more when it arrives is not used.
func TestPeerAnswerTooOld(t *testing.T) {
	a, b, _ := newOwned(t, func(x *asked) { x.ok(fmt.Sprint(x.n), "Age: 60") })
	b.ask("GET /a")
	if g := a.ask("GET /a"); strings.Contains(g.get("Cache-Status"), "peer") {
		t.Errorf("got %s", g)
	}
}

// The owner gets the fields that select the variant, and an answer of another one is not used.
func TestPeerVariants(t *testing.T) {
	a, _, cl := newOwned(t, func(x *asked) {
		_, language, _ := strings.Cut(x.head, "Accept-Language: ")
		x.ok(language[:2], "Vary: Accept-Language")
	})
	for range 2 {
		for _, language := range []string{"de", "en", "fr"} {
			if g := a.ask("GET /a", "Accept-Language: "+language); g.body != language {
				t.Errorf("%s: got %s", language, g)
			}
		}
	}
	if got := fmt.Sprint(cl.Fetches(), len(a.origin.requests())); got != "[fill fill fill] 3" {
		t.Errorf("got %s", got)
	}
}

// Nodes whose configurations differ do not fill each other.
func TestPeerWithOtherRules(t *testing.T) {
	o := newRawOrigin(t, &rawOrigin{script: func(x *asked) { x.ok("hello") }})
	a, b := newSiteWithOrigin(t, o), newSiteWithOrigin(t, o, func(c *Config) { c.Policy.DefaultTTL = 7 })
	cl := clustertest.Connect(a.space.Cache(), b.space.Cache())
	cl.Share(b.space.Cache())
	a.ask("GET /a")
	if got := fmt.Sprint(cl.Fetches()); got != "[declined]" {
		t.Errorf("got %s", got)
	}
}

// A long body is requested from the origin by each node, and its owner is not asked again for a
// while.
func TestPeerLongBody(t *testing.T) {
	body := strings.Repeat("x", 1<<20)
	a, _, cl := newOwned(t, func(x *asked) { x.ok(body) })
	for i := range 3 {
		if g := a.ask(fmt.Sprint("GET /a?", i)); len(g.body) != len(body) {
			t.Errorf("got %d bytes", len(g.body))
		}
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[declined]" {
		t.Errorf("got %s", got)
	}
}

// Concurrent misses at both nodes are one request to the origin.
func TestPeerCrowd(t *testing.T) {
	release, arrived := make(chan struct{}), make(chan struct{}, 1)
	a, b, _ := newOwned(t, func(x *asked) {
		arrived <- struct{}{}
		<-release
		x.ok(fmt.Sprint(x.n))
	})
	var clients sync.WaitGroup
	for i := range 40 {
		s := [...]*site{a, b}[i%2]
		clients.Go(func() {
			if g := s.ask("GET /a"); g.body != "1" {
				t.Errorf("got %s", g)
			}
		})
	}
	<-arrived
	await.Until(t, func() bool { return a.Stats().Running == 1 && b.Stats().Running == 1 })
	close(release)
	clients.Wait()
	if n := len(a.origin.requests()); n != 1 {
		t.Errorf("the origin got %d requests", n)
	}
}

// invalidations are the ways to make answers invalid at a node, with the answers that are.
var invalidations = map[string]func(s *site){
	"POST":       func(s *site) { s.ask("POST /a", "Content-Length: 0") },
	"group":      func(s *site) { s.ask("POST /elsewhere", "Content-Length: 0") },
	"url":        purgesBy(purge.URL, "http://site/a", false),
	"prefix":     purgesBy(purge.Prefix, "/", false),
	"pattern":    purgesBy(purge.Pattern, "/*", false),
	"tag":        purgesBy(purge.Tag, "x", false),
	"all":        purgesBy(purge.All, "", false),
	"soft url":   purgesBy(purge.URL, "http://site/a", true),
	"soft tag":   purgesBy(purge.Tag, "x", true),
	"soft all":   purgesBy(purge.All, "", true),
	"soft scope": purgesBy(purge.Prefix, "/", true),
}

func purgesBy(kind purge.Kind, text string, soft bool) func(s *site) {
	return func(s *site) {
		s.t.Helper()
		if _, err := s.Purge(s.t.Context(), admin.PurgeRequest{Selector: purge.By(kind, text), Soft: soft}); err != nil {
			s.t.Error(err)
		}
	}
}

// versions answers GET with the number of the request among all, and POST with an invalidation
// of the group.
func versions(x *asked) {
	if strings.HasPrefix(x.head, "POST ") {
		x.respond("HTTP/1.1 200 OK\nCache-Group-Invalidation: \"g\"\nContent-Length: 0\n\n")
		return
	}
	x.ok(fmt.Sprint(x.n), "Surrogate-Key: x", `Cache-Groups: "g"`)
}

// An answer that the owner gave before an invalidation is not served after it, at whichever node
// that was made.
func TestInvalidationDuringPeerAnswer(t *testing.T) {
	for name, invalidate := range invalidations {
		for i, where := range []string{"asker", "owner"} {
			t.Run(name+" at "+where, func(t *testing.T) {
				a, b, cl := newOwned(t, versions)
				b.ask("GET /a")
				once := sync.OnceFunc(func() { invalidate([...]*site{a, b}[i]) })
				cl.AfterAnswer(once)
				if g := a.ask("GET /a"); g.body != "1" {
					t.Fatalf("during the invalidation: got %s", g)
				}
				if g := a.ask("GET /a"); g.body == "1" {
					t.Errorf("after the invalidation: got %s", g)
				}
			})
		}
	}
}

// A node that has purged is not filled by one that has not received the purge yet.
func TestPeerThatIsNotPurged(t *testing.T) {
	for _, name := range []string{"prefix", "tag", "all", "soft tag", "soft url", "group"} {
		t.Run(name, func(t *testing.T) {
			a, b, cl := newOwned(t, versions)
			b.ask("GET /a")
			cl.BeforeBroadcast(func() { a.ask("GET /a") })
			invalidations[name](a)
			if got := fmt.Sprint(cl.Fetches()); got != "[]" {
				t.Errorf("during the purge the owner was asked: %s", got)
			}
			if g := a.ask("GET /a"); g.body == "1" {
				t.Errorf("after the purge: got %s", g)
			}
		})
	}
}

// If an invalidation of groups reaches the owner late, what it gave to others before is dropped as
// well.
func TestPeerGetsGroupsLate(t *testing.T) {
	var a, b *site
	var cl *clustertest.Cluster
	await.Until(t, func() bool {
		a, b, cl = newOwned(t, versions)
		b.ask("GET /a")
		cl.RefuseBroadcasts(cache.ErrIsolated)
		if g := a.ask("POST /elsewhere", "Content-Length: 0"); g.status != 504 {
			t.Fatalf("got %s", g)
		}
		// Otherwise the invalidation was being announced again just now.
		g := a.ask("GET /a")
		return g.body == "1" && strings.Contains(g.get("Cache-Status"), "peer")
	})
	cl.RefuseBroadcasts(nil)
	await.Until(t, func() bool { return a.ask("GET /a").body != "1" && b.ask("GET /a").body != "1" })
}

// The answer of the owner can be purged by all tags that it has there.
func TestPeerTags(t *testing.T) {
	a, b, _ := newOwned(t, func(x *asked) {
		if strings.Contains(x.head, "If-None-Match") {
			x.respond("HTTP/1.1 304 Not Modified\nETag: \"1\"\nCache-Control: max-age=60\nSurrogate-Key: new\n\n")
			return
		}
		x.ok(fmt.Sprint(x.n), "ETag: \"1\"", "Cache-Control: max-age=60", "Surrogate-Key: old")
	})
	b.ask("GET /a")
	b.ask("GET /a", "Cache-Control: max-age=0")
	a.wantStatus("GET /a", "detail=peer")
	a.wantStatus("GET /a", "kasoku; hit")
	purgesBy(purge.Tag, "old", false)(a)
	a.wantStatus("GET /a", "fwd=")
}

// A node without a lease asks no other node, and one during a write of the URL.
func TestPeerIsNotAsked(t *testing.T) {
	a, b, cl := newOwned(t, versions)
	b.ask("GET /a")
	hold := a.space.Cache().Hold([]cache.Tag{cache.TagOf([]byte("http://site/a"))})
	a.ask("GET /a")
	hold.Release()
	a.space.Cache().SetLease(0)
	a.ask("GET /a")
	if got := fmt.Sprint(cl.Fetches()); got != "[]" {
		t.Errorf("got %s", got)
	}
}

// Explain names the owner of a URL that is not stored.
func TestExplainOwner(t *testing.T) {
	a, b, _ := newOwned(t, versions)
	steps := func(s *site) string {
		e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://site/a"})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(e.Steps)
	}
	if got := steps(a); !strings.Contains(got, "peer owner") {
		t.Errorf("got %s", got)
	}
	if got := steps(b); strings.Contains(got, "peer") {
		t.Errorf("the owner: got %s", got)
	}
}

// Malformed questions are declined.
func TestMalformedPeerRequest(t *testing.T) {
	a, b, _ := newOwned(t, versions)
	b.ask("GET /a")
	x := edge.Detached(t.Context(), http1.Request{Method: []byte("GET"), Target: []byte("/a"), Path: []byte("/a"), Host: []byte("site"), Minor: 1}, nil, time.Now())
	c := a.startCall(x)
	c.parse()
	q := c.formerQuestion().request
	if _, _, ok := parsePeerRequest(q); !ok {
		t.Fatal("a question is not parsed")
	}
	for n := range q {
		if _, ok := b.answerPeer(t.Context(), q[:n]); ok {
			t.Errorf("the first %d of %d bytes are answered", n, len(q))
		}
	}
	if _, ok := b.answerPeer(t.Context(), append(q, 0)); ok {
		t.Error("a question with one byte more is answered")
	}
	if _, ok := b.answerPeer(t.Context(), q); !ok {
		t.Error("a question is not answered")
	}
}

// An answer is not used if its owner may have missed a change that this node has got.
func TestMissed(t *testing.T) {
	for _, c := range []struct {
		behind, quiet time.Duration
		want          bool
	}{
		{never, 0, false},
		{1, 0, true},
		{1, 99 * time.Millisecond, true},
		{1, 101 * time.Millisecond, false},
		{time.Second, 1200 * time.Millisecond, true},
		{time.Second, 1201 * time.Millisecond, false},
	} {
		if got := missed(c.behind, c.quiet); got != c.want {
			t.Errorf("behind by %s, no change for %s: got %v", c.behind, c.quiet, got)
		}
	}
}
