package couch

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/purge"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newClusterSite returns a site whose cache is one of two, and the other one.
func newClusterSite(t *testing.T) (s *site, other *cache.Cache, cl *clustertest.Cluster) {
	t.Helper()
	s = newSite(t, 1)
	other, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	return s, other, clustertest.Connect(s.cache, other)
}

const (
	updatePath   = "/db/_design/d/_update/lead/x" // the document is known only from the answer
	notExecutedX = `{"error":"service_unavailable","reason":"This instance is not in contact with its cluster. The write was not executed."}`
)

// A write moves the document's tag in the other cache, whether it is known before or only from the
// answer.
func TestWritesReachOtherNodes(t *testing.T) {
	f := func(method, path string) {
		t.Helper()
		t.Run(path, func(t *testing.T) {
			s, other, cl := newClusterSite(t)
			s.do("PUT", "/db/x", "0")
			cl.Rounds()
			st := other.Note(s.tagger.Document([]byte("db"), []byte("x")), s.tagger.Results([]byte("db")))
			if g := s.do(method, path, "1"); g.status >= 400 {
				t.Fatalf("got %d %s", g.status, g.body)
			}
			if other.Current(&st) {
				t.Error("the other cache serves the old document")
			}
			if got := fmt.Sprint(cl.Rounds()); got != "[commit]" {
				t.Errorf("rounds ended with %s", got)
			}
		})
	}
	f("PUT", "/db/x")
	f("POST", updatePath)
}

func TestWriteWithoutCluster(t *testing.T) {
	f := func(method, path string) {
		t.Helper()
		t.Run(path, func(t *testing.T) {
			s, _, cl := newClusterSite(t)
			want := func(what string, g *got, status int, body, retry string) {
				t.Helper()
				if g.status != status || !strings.Contains(g.body, body) || g.header.Get("Retry-After") != retry {
					t.Errorf("%s: got %d %s, Retry-After %q", what, g.status, g.body, g.header.Get("Retry-After"))
				}
				if status >= 500 && g.header.Get("Content-Type") == "application/json" != (body[0] == '{') {
					t.Errorf("%s: got Content-Type %s", what, g.header.Get("Content-Type"))
				}
			}
			s.requests()
			cl.Refuse(cache.ErrIsolated)
			want("refused", s.do(method, path, "1"), 503, notExecutedX, "1")
			cl.Refuse(nil)
			cl.Sendable(0)
			want("lease over before", s.do(method, path, "1"), 503, notExecutedX, "1")
			s.expectRequests("without a lease")
			cl.Sendable(1)
			want("lease over meanwhile", s.do(method, path, "1"), 504, "may have been executed", "")
			if got := fmt.Sprint(cl.Rounds()); got != "[refused commit unknown]" {
				t.Errorf("rounds ended with %s", got)
			}
		})
	}
	f("PUT", "/db/x")
	f("PUT", "/db/_security")
	f("POST", updatePath)
}

// A write whose document the other nodes have not fenced is an error in CouchDB's format.
func TestWriteWithoutFurtherFence(t *testing.T) {
	s, _, cl := newClusterSite(t)
	cl.RefuseFurther(cache.ErrIsolated)
	g := s.do("POST", updatePath, "1")
	if g.status != 500 || !strings.HasPrefix(g.body, `{"error":"internal_server_error",`) || g.header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Rounds()); got != "[unknown]" {
		t.Errorf("rounds ended with %s", got)
	}
}

// newPair returns two services in front of two nodes, whose caches are one cluster. Both follow the
// database, in which both nodes have the document x.
func newPair(t *testing.T, change ...func(*Config)) (a, b *site, cl *clustertest.Cluster) {
	t.Helper()
	a = newSite(t, 2, change...)
	a.nodes[0].store("x", "old")
	a.nodes[1].replicate("x", a.nodes[0])
	b = a.second()
	cl = clustertest.Connect(a.cache, b.cache)
	for _, s := range []*site{a, b} {
		s.follow()
		s.until(func() bool { return !s.cache.Note().Strong })
	}
	return a, b, cl
}

// silence lets the feeds of all nodes be silent.
func (s *site) silence() {
	for _, n := range s.nodes {
		n.set(func() { n.silent = true })
	}
}

// A read through another service gets an acknowledged write before any feed has announced it, while
// the other node has the old document.
func TestReadThroughOtherService(t *testing.T) {
	f := func(what, writes, method, path string) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			a, b, _ := newPair(t, func(c *Config) { c.Writes = writes })
			a.silence()
			for i := range 8 {
				body := strings.Repeat("n", i+1)
				if g := a.do(method, path, body); g.status >= 400 {
					t.Fatalf("got %d %s", g.status, g.body)
				}
				for range 4 {
					if g := b.do("GET", "/db/x", ""); g.body != body {
						t.Errorf("after %s, %s returned %s", body, g.header.Get("X-Node"), g.body)
					}
					if g := b.do("GET", view, ""); g.body != rows("x", body) {
						t.Errorf("after %s, the view of %s returned %s", body, g.header.Get("X-Node"), g.body)
					}
				}
			}
		})
	}
	f("first", WritesFirst, "PUT", "/db/x")
	f("any", WritesAny, "PUT", "/db/x")
	f("from the answer", WritesFirst, "POST", updatePath)
	f("unknown revision", WritesFirst, "POST", "/db/_design/d/_update/u/x")
}

// If another node has taken a write instead of the first one, all services write there until the
// first has everything.
func TestServicesWriteToOneNode(t *testing.T) {
	a, b, _ := newPair(t)
	first, second := a.nodes[0], a.nodes[1]
	write := func(what string, s *site, node string) {
		t.Helper()
		if g := s.do("PUT", "/db/x", what); g.status != 201 || g.header.Get("X-Node") != node {
			t.Errorf("%s: got %d from %s", what, g.status, g.header.Get("X-Node"))
		}
	}
	write("regular", b, "a")
	second.replicate("x", first)
	a.settled()
	b.settled()
	a.silence()
	first.set(func() { first.status = 503 })
	write("the first fails", a, "b")
	first.set(func() { first.status = 0 })
	write("the first lacks a write", b, "b")
	for _, n := range a.nodes {
		n.set(func() { n.silent = false })
	}
	first.replicate("x", second)
	a.settled()
	b.settled()
	write("the first has everything", a, "a")
	write("the first has everything", b, "a")
}

// A service that may have missed writes reads from the node that takes them, and stores no result
// if several nodes do.
func TestReadsOfServiceThatHasJoined(t *testing.T) {
	f := func(what, writes, path, stored string, missed func(*site)) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			_, b, _ := newPair(t, func(c *Config) { c.Writes = writes })
			b.silence()
			writer := b.nodes[0]
			if writes == WritesAny && path != view {
				writer = b.nodes[b.settings.Load().cfg.writeOrder(0, []byte("db"), []byte("x"))[0]]
			}
			writer.store("x", "unrecorded") // as by a member before this one has joined
			missed(b)
			for i := range 8 {
				g := b.do("GET", fmt.Sprintf("%s?n=%d", path, i), "")
				if g.header.Get("X-Node") != writer.name || !strings.Contains(g.body, "unrecorded") {
					t.Errorf("%s returned %s", g.header.Get("X-Node"), g.body)
				}
				if got := strings.Contains(g.cacheStatus(), "stored"); got != (stored == "stored") {
					t.Errorf("%s; want %s", g.cacheStatus(), stored)
				}
			}
		})
	}
	joined := func(s *site) { s.cache.SettleUntil(s.cache.Now() + int64(time.Hour)) }
	f("a document", WritesFirst, "/db/x", "stored", joined)
	f("a document, any", WritesAny, "/db/x", "stored", joined)
	f("a view", WritesFirst, view, "stored", joined)
	f("a view, any", WritesAny, view, "not stored", joined)
	f("no lease", WritesFirst, "/db/x", "not stored", func(s *site) { s.cache.SetLease(0) })
}

// A write that the other services have not recorded is an error in CouchDB's format.
func TestWriteThatOtherServicesLack(t *testing.T) {
	a, _, cl := newPair(t)
	cl.Rounds()
	cl.RefuseBroadcasts(cache.ErrIsolated)
	g := a.do("PUT", "/db/x", "1")
	if g.status != 500 || !strings.HasPrefix(g.body, `{"error":"internal_server_error",`) {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Rounds()); got != "[unknown]" {
		t.Errorf("rounds ended with %s", got)
	}
}

// A message about a write has a maximum size: the revisions of a longer one count as unknown.
func TestWrittenMessage(t *testing.T) {
	f := func(docs int, want written) {
		t.Helper()
		r := written{Node: "http://a", Database: []byte("db"), Client: 1 << 63, Accepted: true}
		for range docs {
			r.Stored = append(r.Stored, api.Revision{ID: []byte("x"), Rev: []byte("1-a")})
		}
		text, err := r.marshal()
		var got written
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil || !reflect.DeepEqual(got, want) || len(text) > maxWritten {
			t.Errorf("%d documents: got %+v of %d bytes, %v", docs, got, len(text), err)
		}
	}
	want := written{Node: "http://a", Database: []byte("db"), Client: 1 << 63, Accepted: true}
	want.Stored = []api.Revision{{ID: []byte("x"), Rev: []byte("1-a")}}
	f(1, want)
	want.Stored, want.Unknown = nil, true
	f(10_000, want)
}

// Only results that mean something to other members are sent.
func TestWrittenConcerns(t *testing.T) {
	f := func(want bool, r written) {
		t.Helper()
		if got := r.concerns(); got != want {
			t.Errorf("%+v: got %v", r, got)
		}
	}
	db := []byte("db")
	f(true, written{Node: "http://a", Database: db, Accepted: true})
	f(true, written{Node: "http://a", Database: db, Stored: []api.Revision{{}}})
	f(true, written{Database: db, Existence: true})
	f(false, written{Node: "http://a", Database: db})
	f(false, written{Database: db, Accepted: true})
	f(false, written{Node: "http://a", Accepted: true})
}

// A malformed message is logged.
func TestMalformedWrittenMessage(t *testing.T) {
	a, b, _ := newPair(t)
	if err := a.cache.Broadcast(t.Context(), a.broadcastName(), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.log.String(), "malformed message about a write") {
		t.Errorf("got the log %s", b.log)
	}
}

// A database that is created or deleted through one service is another one for all of them.
func TestCreationReachesOtherServices(t *testing.T) {
	a, b, _ := newPair(t)
	incarnation := func() uint64 { return b.settings.Load().table().Find([]byte("db")).Incarnation() }
	before := incarnation()
	a.silence()
	if g := a.do("PUT", "/db", ""); g.status != 201 {
		t.Fatalf("got %d %s", g.status, g.body)
	}
	if incarnation() == before {
		t.Error("the other service serves the former database")
	}
}

// After a write of _security through one service, the others check permissions again.
func TestPermissionsAtOtherServices(t *testing.T) {
	a := guarded(t)
	b := a.second()
	clustertest.Connect(a.cache, b.cache)
	b.follow("Authorization", "ann")
	for range 2 {
		b.get("before", "/db/x", 200, "1", "", "Authorization", "bob")
	}
	if g := a.do("PUT", "/db/_security", annOnly, "Authorization", "ann"); g.status != 200 {
		t.Fatalf("got %d %s", g.status, g.body)
	}
	b.expectBobDenied("through the other service")
}

// A purge through one service drops the copies of all.
func TestPurgeReachesOtherServices(t *testing.T) {
	a, b, cl := newPair(t)
	f := func(selector purge.Selector, paths ...string) {
		t.Helper()
		for _, path := range paths {
			b.do("GET", path, "")
			if g := b.do("GET", path, ""); !strings.HasPrefix(g.cacheStatus(), "hit") {
				t.Errorf("%s: %s is no hit before", selector, path)
			}
		}
		if _, err := a.Purge(t.Context(), admin.PurgeRequest{Selector: selector}); err != nil {
			t.Error(err)
		}
		for _, path := range paths {
			if g := b.do("GET", path, ""); strings.HasPrefix(g.cacheStatus(), "hit") {
				t.Errorf("%s: %s is still a hit", selector, path)
			}
		}
	}
	f(purge.By(purge.URL, "/db/x"), "/db/x")
	f(purge.By(purge.URL, "/db/_all_docs"), view)
	f(purge.By(purge.URL, "/db"), "/db/x", view)
	f(purge.Selector{}, "/db/x", view)
	cl.Refuse(cache.ErrIsolated)
	if _, err := a.Purge(t.Context(), admin.PurgeRequest{}); err == nil {
		t.Error("no error for a purge that the other services have not made")
	}
}
