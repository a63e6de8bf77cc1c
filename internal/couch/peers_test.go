package couch

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/testutil/clustertest"
)

// newOwned returns two services as one cluster in front of that many nodes, which have the document
// x. b owns all keys. The nodes see its feeds as those of the user b.
func newOwned(t *testing.T, nodes int) (a, b *site, cl *clustertest.Cluster) {
	t.Helper()
	a = newSite(t, nodes, func(c *Config) { c.User = "a" })
	a.nodes[0].store("x", "old")
	for _, n := range a.nodes[1:] {
		n.replicate("x", a.nodes[0])
	}
	b = a.second(func(c *Config) { c.User = "b" })
	cl = clustertest.Connect(a.cache, b.cache)
	cl.Share(b.cache)
	for _, s := range []*site{a, b} {
		s.follow()
		s.until(func() bool { return !s.cache.Note().Strong })
	}
	return a, b, cl
}

// untilPeer requests different forms of a path until the owner has answered one, and returns that
// answer.
func (s *site) untilPeer(path string) (g *got) {
	s.t.Helper()
	n := 0
	s.until(func() bool {
		n++
		g = s.do("GET", fmt.Sprintf("%s?n=%d", path, n), "")
		return strings.Contains(g.cacheStatus(), "detail=peer")
	})
	return g
}

// storeEverywhere stores the document x at all nodes, as another process does, and waits until s has got that.
func (s *site) storeEverywhere(body string) {
	s.t.Helper()
	s.nodes[0].store("x", body)
	for _, n := range s.nodes[1:] {
		n.replicate("x", s.nodes[0])
	}
	s.settled()
}

// A read without a copy is answered by the owner of its key.
func TestPeerAnswers(t *testing.T) {
	for _, path := range []string{"/db/x", "/db/_all_docs"} {
		t.Run(path, func(t *testing.T) {
			a, _, _ := newOwned(t, 2)
			g := a.untilPeer(path)
			a.requests()
			if again := a.do("GET", g.path, ""); again.body != g.body || again.cacheStatus() != "hit; detail=followed" {
				t.Errorf("got %s %s, then %s %s", g.body, g.cacheStatus(), again.body, again.cacheStatus())
			}
			if again := a.do("GET", g.path, "", "If-None-Match", g.header.Get("ETag")); again.status != 304 {
				t.Errorf("with the validator: got %d", again.status)
			}
			a.expectRequests("hits")
		})
	}
}

// The copy of an owner whose feeds are behind is not used after a change that this service has got.
func TestPeerIsBehind(t *testing.T) {
	for _, path := range []string{"/db/x", "/db/_all_docs"} {
		t.Run(path, func(t *testing.T) {
			a, b, cl := newOwned(t, 2)
			a.untilPeer(path)
			old := b.do("GET", path, "", "Host", "db").body
			for _, n := range a.nodes {
				n.set(func() { n.delayed = "b" })
			}
			a.storeEverywhere("new")
			if g := b.do("GET", path, "", "Host", "db"); g.body != old {
				t.Fatalf("the owner has got the change: %s", g.body)
			}
			cl.Fetches()
			if g := a.do("GET", path, "", "Host", "db"); g.body == old || strings.Contains(g.cacheStatus(), "peer") {
				t.Errorf("got %s %s", g.body, g.cacheStatus())
			}
			if got := fmt.Sprint(cl.Fetches()); got != "[hit]" {
				t.Errorf("the owner answered with %s, want a hit", got)
			}
		})
	}
}

// A change between the owner's answer and its storing is not lost.
func TestChangeDuringPeerAnswer(t *testing.T) {
	write := func(s *site) {
		if g := s.do("PUT", "/db/x", "new"); g.status >= 400 {
			s.t.Errorf("got %d %s", g.status, g.body)
		}
	}
	for name, change := range map[string]func(a, b *site){
		"write through asker": func(a, _ *site) { write(a) },
		"write through owner": func(_, b *site) { write(b) },
		"past Kasoku":         func(a, _ *site) { a.storeEverywhere("new") },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, cl := newOwned(t, 1)
			a.untilPeer("/db/x")
			changed := false
			cl.AfterAnswer(sync.OnceFunc(func() { changed = true; change(a, b) }))
			if a.do("GET", "/db/x", ""); !changed {
				t.Fatal("the owner was not asked")
			}
			if g := a.do("GET", "/db/x", ""); g.body != "new" {
				t.Errorf("got %s %s", g.body, g.cacheStatus())
			}
		})
	}
}

// The owner is not asked for a client that may not read the database, and gets the credentials of
// one that may.
func TestPeerPermission(t *testing.T) {
	a, _, cl := newOwned(t, 1)
	a.untilPeer("/db/x")
	a.nodes[0].set(func() { a.nodes[0].allowed = map[string]bool{"Basic eA==": true} })
	cl.Fetches()
	if g := a.do("GET", "/db/x?secret", "", "Authorization", "Basic eQ=="); g.status != 401 {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[]" {
		t.Errorf("the owner was asked: %s", got)
	}
	if g := a.do("GET", "/db/x?secret", "", "Authorization", "Basic eA=="); g.body != "old" {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[fill]" {
		t.Errorf("the owner answered with %s, want a fill", got)
	}
	a.nodes[0].set(func() { a.nodes[0].allowed = nil })
	if g := a.do("GET", "/db/x?session", "", "Cookie", "AuthSession=YW5uYTo1RjAwMDAwMDp4"); g.body != "old" {
		t.Errorf("with a session: got %d %s", g.status, g.body)
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[fill]" {
		t.Errorf("with a session: the owner answered with %s, want a fill", got)
	}
}

// Files are shared as their header fields specify.
func TestPeerFile(t *testing.T) {
	a, b, cl := newOwned(t, 1)
	a.nodes[0].set(func() { a.nodes[0].fields["Cache-Control"] = "max-age=60" })
	b.do("GET", "/_utils/index.html", "", "Host", "db")
	if g := a.do("GET", "/_utils/index.html", "", "Host", "db"); !strings.Contains(g.cacheStatus(), "detail=peer; stored") {
		t.Errorf("got %d %s", g.status, g.cacheStatus())
	}
	if got := fmt.Sprint(cl.Fetches()); got != "[hit]" {
		t.Errorf("the owner answered with %s, want a hit", got)
	}
}

// An owner without contact to a node has no answer: changes may be missing that others have got.
func TestPeerDeclines(t *testing.T) {
	a, b, cl := newOwned(t, 2)
	a.untilPeer("/db/x")
	cl.Fetches()
	a.nodes[1].set(func() { a.nodes[1].unreachable = true })
	b.settings.Load().table().Find([]byte("db")).RecheckExistence(1)
	a.do("GET", "/db/x?declined", "")
	if got := fmt.Sprint(cl.Fetches()); got != "[declined]" {
		t.Errorf("got %s", got)
	}
}

// Explain names the owner of a copy that does not exist.
func TestExplainOwner(t *testing.T) {
	a, b, _ := newOwned(t, 1)
	steps := func(s *site) string {
		e, err := s.Explain(t.Context(), admin.ExplainRequest{Path: "http://" + s.addr + "/db/x"})
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
