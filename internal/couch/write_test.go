package couch

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestReadYourWrites checks that a write invalidates cached answers before it is answered, and that
// answers of a node without the write are not cached.
func TestReadYourWrites(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.do("PUT", "/db/x", "1")
	b.replicate("x", a)
	s.follow()
	s.get("first", "/db/x", 200, "1", "fwd=uri-miss; stored")
	s.get("first", view, 200, rows("x", "1"), "fwd=uri-miss; stored")
	s.requests()
	if g := s.do("PUT", "/db/x", "2"); g.status != 201 || g.cacheStatus() != "fwd=method; detail=passed" {
		t.Errorf("got %d %s", g.status, g.cacheStatus())
	}
	for range 3 { // b would answer differently
		s.get("written", "/db/x", 200, "2", "")
		s.get("written", view, 200, rows("x", "2"), "")
	}
	s.expectRequests("while b lacks it", "a PUT /db/x", "a GET /db/x", "a GET "+view)
	b.replicate("x", a)
	s.settled()
	s.get("replicated", view, 200, rows("x", "2"), "")
}

// TestUpdateFunction checks that a document stored by an update function is read from the node
// that stored it, also if the function redirects the client.
func TestUpdateFunction(t *testing.T) {
	s := newSite(t, 2)
	a := s.nodes[0]
	s.follow()
	a.set(func() { a.silent = true })
	if g := s.do("POST", "/db/_design/d/_update/lead/x", "1"); g.status != 303 {
		t.Errorf("got status %d", g.status)
	}
	for range 4 {
		s.get("updated", "/db/x?local_seq=true", 200, "1", "fwd=bypass")
	}
}

// TestUncachedReadsSeeWrites checks that uncached reads, too, are sent to nodes with the latest
// write.
func TestUncachedReadsSeeWrites(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	s.do("PUT", "/db/x", "1")
	s.requests()
	for range 4 {
		s.get("not kept", "/db/x?local_seq=true", 200, "1", "fwd=bypass; detail=protocol")
		s.get("of a replicator", "/db/x", 200, "1", "fwd=bypass; detail=protocol", "User-Agent", "CouchDB-Replicator/3")
	}
	if got := strings.Join(b.requests(), " "); got != "" {
		t.Errorf("b received %s", got)
	}
	b.replicate("x", a)
	s.settled()
	s.requests()
	for range 4 {
		s.do("GET", "/db/x?local_seq=true", "")
	}
	if len(a.requests()) == 0 || len(b.requests()) == 0 {
		t.Error("reads are no longer balanced")
	}
}

// TestDirectWrite checks that one node's announcement is not undone by another node's answer.
func TestDirectWrite(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	a.store("x", "1")
	b.replicate("x", a)
	s.follow()
	s.get("first", "/db/x", 200, "1", "fwd=uri-miss; stored")
	b.store("x", "2")
	s.until(func() bool { return s.do("GET", "/db/x", "").body == "2" })
	for range 4 {
		s.get("b has it", "/db/x", 200, "2", "")
		s.get("b has it", view, 200, rows("x", "2"), "")
	}
}

// TestOnlyNodeWithWrite checks that a write that only one node has is read from no other node while
// that node is reachable, also if it fails.
func TestOnlyNodeWithWrite(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	s.do("PUT", "/db/x", "1")
	for path, want := range map[string]string{view: rows("x", "1"), "/db/x": "1", "/db/x?local_seq=true": "1"} {
		a.set(func() { a.failing = 1 })
		s.get("the writer fails once", path, 200, want, "")
		s.cache.Apply(fakeChange(s, "x"))
		a.set(func() { a.failing = 2 })
		if g := s.do("GET", path, ""); g.status != 503 {
			t.Errorf("%s, after two failures of the writer: got %d %s from %s", path, g.status, g.body, g.header.Get("X-Node"))
		}
	}
	if got := strings.Join(b.requests(), " "); got != "GET /db/nothing" && got != "" {
		t.Errorf("b received %s", got)
	}
}

// TestFailback checks that the node that took the last write gets the writes and the reads until
// the first one lacks nothing.
func TestFailback(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	from := func(what, method, path, body string, node *node) {
		t.Helper()
		if g := s.do(method, path, body); g.status >= 300 || g.header.Get("X-Node") != node.name {
			t.Errorf("%s: got %d from %s, want %s", what, g.status, g.header.Get("X-Node"), node.name)
		}
	}
	a.set(func() { a.status = 503 })
	from("the first one fails", "PUT", "/db/x", "1", b)
	a.set(func() { a.status = 0 })
	a.store("y", "1")
	db := s.settings.Load().table().Find([]byte("db"))
	s.until(func() bool { return db.Current(nil) == 0 })
	s.get("each lacks something", view, 200, rows("x", "1"), "")
	from("each lacks something", "PUT", "/db/x", "2", b)
	s.get("written again", view, 200, rows("x", "2"), "")
	from("normal feeds", "GET", "/db/_changes", "", b)
	a.replicate("x", b)
	b.replicate("y", a)
	s.until(func() bool { return db.Current(nil).Has(0) })
	from("the first one has all", "PUT", "/db/z", "1", a)
	s.get("written there", view, 200, rows("x", "2", "y", "1", "z", "1"), "")
}

// TestMergedResult checks that, right after a failover, a read of which two nodes have a part each
// waits until one node has both parts, and does not wait for later writes.
func TestMergedResult(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.MaxLag = 100 * time.Hour })
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	s.do("PUT", "/db/x", "1")
	a.set(func() { a.status = 503 })
	s.do("PUT", "/db/y", "1")
	a.set(func() { a.status = 0 })
	ended := make(chan *got, 1)
	go func() {
		g, err := s.tryDo("GET", view, "")
		if err != nil {
			t.Error(err)
		}
		ended <- g
	}()
	s.until(func() bool {
		return len(ended) > 0 || strings.Contains(scrape(s.registry), `kasoku_couch_merging_total{service="couch"} 1`)
	})
	a.store("z", "1")
	db := s.settings.Load().table().Find([]byte("db"))
	s.until(func() bool { return !db.Current([]byte("z")).Has(1) })
	b.replicate("x", a)
	if g := <-ended; g.body != rows("x", "1", "y", "1") || g.header.Get("X-Node") != "b" {
		t.Errorf("got %d %s from %q", g.status, g.body, g.header.Get("X-Node"))
	}
}

// TestFailbackWaits checks that the writes don't return to the first node while one to another
// node is in flight.
func TestFailbackWaits(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	a.set(func() { a.status = 503 })
	s.do("PUT", "/db/x", "1")
	a.set(func() { a.status = 0 })
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	b.set(func() { b.hold, b.held = hold, held })
	ended := make(chan *got)
	go func() {
		g, err := s.tryDo("PUT", "/db/y", "1")
		if err != nil {
			t.Error(err)
		}
		ended <- g
	}()
	<-held
	b.set(func() { b.hold = nil })
	a.replicate("x", b)
	a.replicate("y", b)
	s.settled()
	if g := s.do("PUT", "/db/z", "1"); g.header.Get("X-Node") != "b" {
		t.Errorf("the write was sent to %s", g.header.Get("X-Node"))
	}
	close(hold)
	<-ended
	a.replicate("z", b)
	s.settled()
	if g := s.do("PUT", "/db/z", "2"); g.header.Get("X-Node") != "a" {
		t.Errorf("in the end the write was sent to %s", g.header.Get("X-Node"))
	}
}

// TestLostAnswers checks that nothing is cached that a write without an answer may have changed.
func TestLostAnswers(t *testing.T) {
	f := func(name string, status int, change func(*node)) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 1)
			a := s.nodes[0]
			a.store("x", "1")
			s.follow()
			s.get("before", "/db/x", 200, "1", "fwd=uri-miss; stored")
			a.set(func() { change(a) })
			if g, err := s.tryDo("POST", "/db/", `{"_id":"x"}`); err != nil || g.status != status {
				t.Errorf("the write got %+v, %v; want %d", g, err, status)
			}
			a.set(func() { a.dropped, a.cutBody, a.status = false, false, 0 })
			for range 3 {
				if how := s.do("GET", "/db/x", "").cacheStatus(); !strings.HasSuffix(how, "detail=invalidated; fwd-status=304") && !strings.Contains(how, "unsettled") {
					t.Errorf("a read after the write: %s", how)
				}
			}
			for range 2 {
				s.get("a result", view, 200, s.do("GET", view, "").body, "fwd=uri-miss; detail=unsettled")
			}
		})
	}
	f("no answer", 502, func(n *node) { n.dropped = true })
	f("cut after the head", 502, func(n *node) { n.cutBody = true })
	f("an error", 500, func(n *node) { n.status = 500 })
}

// TestRefusedWrites checks that a write that the node has refused has no further effect.
func TestRefusedWrites(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	for _, status := range []int{400, 403, 409, 412} {
		a.set(func() { a.status = status })
		if g := s.do("PUT", "/db/x", "2"); g.status != status {
			t.Errorf("got %d; want %d", g.status, status)
		}
		a.set(func() { a.status = 0 })
		s.do("GET", "/db/x", "")
		s.get("kept again", "/db/x", 200, "1", "hit")
	}
}

// TestNodeFailures checks that only those requests fail with a node that it may have executed and
// that can't be executed twice.
func TestNodeFailures(t *testing.T) {
	f := func(name string, method, path, body string, status int, from string) {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 2)
			a, b := s.nodes[0], s.nodes[1]
			a.store("x", "1")
			b.replicate("x", a)
			s.follow()
			a.set(func() { a.dropped = true })
			g := s.do(method, path, body)
			if g.status != status || g.header.Get("X-Node") != from {
				t.Errorf("got %d from %q (%s); want %d from %q", g.status, g.header.Get("X-Node"), g.body, status, from)
			}
		})
	}
	f("a document's write", "PUT", "/db/y", "2", 201, "b")
	f("a deletion", "DELETE", "/db/x?rev=1-a", "", 201, "b")
	f("a new document", "POST", "/db/", `{"n":1}`, 502, "")
}

// TestUnreachableNode checks that an unreachable node has no effect on clients.
func TestUnreachableNode(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	a.store("x", "1")
	b.replicate("x", a)
	s.follow()
	a.server.CloseClientConnections()
	a.server.Listener.Close()
	for range 4 {
		s.get("document", "/db/x?local_seq=true", 200, "1", "fwd=bypass")
		s.get("result", view, 200, rows("x", "1"), "")
		if g := s.do("POST", "/db/", `{"_id":"new"}`); g.status != 201 {
			t.Errorf("a write got %d %s", g.status, g.body)
		}
		b.set(func() { delete(b.docs, "") })
	}
}

// TestSettingsWithWritesToAnyNode checks that with writes to any node the first node gets the
// requests that concern state of single nodes: the list of databases, and permissions.
func TestSettingsWithWritesToAnyNode(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Writes, c.VisibleTTL = WritesAny, time.Nanosecond })
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	for n := range 16 {
		if g := s.do("PUT", "/db"+strconv.Itoa(n), ""); g.header.Get("X-Node") != "a" {
			t.Errorf("database %d was created on %s", n, g.header.Get("X-Node"))
		}
	}
	a.set(func() { a.allowed = map[string]bool{} })
	if g := s.do("PUT", "/db/_security", "{}"); g.header.Get("X-Node") != "a" {
		t.Errorf("security was written to %s", g.header.Get("X-Node"))
	}
	b.requests()
	for n := range 16 {
		if how := s.do("GET", "/db/"+strconv.Itoa(n), "").cacheStatus(); how != "fwd=bypass; detail=not-allowed" {
			t.Errorf("document %d: %s", n, how)
		}
	}
	for _, r := range b.requests() {
		if strings.HasPrefix(r, "HEAD") {
			t.Errorf("b received %s", r)
		}
	}
}

// TestRecreatedDatabase checks that nothing is cached of a database that was recreated.
func TestRecreatedDatabase(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	a.store("x", "1")
	s.follow()
	s.get("before", "/db/x", 200, "1", "fwd=uri-miss; stored")
	a.set(func() { clear(a.docs); a.rows = nil })
	if g := s.do("PUT", "/db", ""); g.status != 201 {
		t.Fatalf("got status %v", g.status)
	}
	s.get("after", "/db/x", 404, missing, "fwd=uri-miss")
	a.store("x", "2")
	s.until(func() bool {
		g := s.do("GET", "/db/x", "")
		return g.body == "2" && strings.HasPrefix(g.cacheStatus(), "hit")
	})
}

// TestForwarded checks which header fields of clients a node does not get.
func TestForwarded(t *testing.T) {
	s := newSite(t, 1)
	got := make(chan http.Header, 10)
	a := s.nodes[0]
	a.set(func() { a.headers = got })
	for _, request := range []string{"GET /db/x", "PUT /db/x", "DELETE /db/x", "GET /db/_local/x", "GET /_utils/x"} {
		method, path, _ := strings.Cut(request, " ")
		s.do(method, path, "", "X-Auth-CouchDB-UserName", "admin", "X-Auth-CouchDB-Roles", "_admin", "X-Couchdb-Vhost-Path", "/x", "X-Mine", "1")
		h := <-got
		if h.Get("X-Auth-CouchDB-UserName") != "" || h.Get("X-Auth-CouchDB-Roles") != "" || h.Get("X-Couchdb-Vhost-Path") != "" || h.Get("X-Mine") != "1" {
			t.Errorf("%s: the node received %v", request, h)
		}
	}
}

// TestOverride checks that Kasoku interprets a POST like the node, and that no other field changes
// the method.
func TestOverride(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	const override = "X-HTTP-Method-Override"
	s.follow()
	s.do("PUT", "/db/x", "1")
	b.replicate("x", a)
	s.settled()
	s.get("first", "/db/x", 200, "1", "fwd=uri-miss; stored")
	s.get("first", view, 200, rows("x", "1"), "fwd=uri-miss; stored")
	s.get("on a GET it is nothing", "/db/x", 200, "1", "hit", override, "DELETE")
	s.get("on a GET it is nothing", "/db/y", 404, missing, "fwd=uri-miss; stored", override, "PUT")
	s.requests()
	for i, method := range []string{"PUT", "PUT;x"} {
		body := strconv.Itoa(i + 2)
		if g := s.do("POST", "/db/x", body, override, method); g.status != 201 {
			t.Errorf("%s: got %d", method, g.status)
		}
		s.get("written by "+method, "/db/x", 200, body, "fwd")
		s.get("written by "+method, view, 200, rows("x", body), "fwd")
		b.replicate("x", a)
		s.settled()
	}
	s.requests()
	s.get("settled", "/db/x", 200, "3", "")
	s.get("settled", "/db/x", 200, "3", "hit")
	s.requests()

	// A GET in a POST is forwarded each time. A write is sent once, even if another node would
	// answer.
	for range 2 {
		if g := s.do("POST", "/db/_all_docs", "", override, "GET"); g.status != 200 || g.cacheStatus() != "fwd=bypass; detail=protocol" {
			t.Errorf("got %d %s", g.status, g.cacheStatus())
		}
	}
	s.requests()
	a.set(func() { a.dropped = true })
	if g := s.do("POST", "/db/x", "4", override, "PUT"); g.status != 502 {
		t.Errorf("a write on a cut connection: got %d", g.status)
	}
	a.set(func() { a.dropped, a.failing = false, 1 })
	if g := s.do("GET", "/db/_design/d/_update/f", ""); g.status != 503 {
		t.Errorf("an update function with GET: got %d", g.status)
	}
	s.expectRequests("of what writes", "a PUT /db/x", "a GET /db/_design/d/_update/f")
}
