package couch

import (
	"io"
	"net"
	"strings"
	"testing"
)

// TestWriteAfterClientDisconnects checks that the result of a write is recorded although its client
// has disconnected, so that the documents are cached again at once.
func TestWriteAfterClientDisconnects(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	s.follow()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	a.set(func() { a.hold, a.held = hold, held })
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "PUT /db/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n1")
	<-held
	c.Close()
	orphans := s.registry.Counter("kasoku_http_orphans_total", "", "service", "couch")
	s.until(func() bool { return orphans.Value() == 1 })
	close(hold)
	s.until(func() bool { return strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
	s.get("written", "/db/x", 200, "1", "hit")
	if n := s.cache.Stats().Applied["unknown-outcome"]; n != 0 {
		t.Errorf("%d writes with an unknown outcome", n)
	}
}

// TestWriteWithIncompleteAnswer checks that the next read returns a write although its answer does
// not contain the revision, and that the affected documents are cached again at once.
func TestWriteWithIncompleteAnswer(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	s.do("PUT", "/db/x", "1")
	b.replicate("x", a)
	s.settled()
	const update = "/db/_design/d/_update/f"
	for _, n := range []string{"2", "3"} {
		a.set(func() { a.silent = true }) // its feed would announce what the answer does not contain
		if g := s.do("POST", update, n); g.status != 200 || g.body != "done" {
			t.Fatalf("got %d %s", g.status, g.body)
		}
		for range 4 { // b would answer differently
			s.get("written", "/db/x", 200, n, "")
			s.get("written", view, 200, rows("x", n), "")
		}
		a.set(func() { a.silent = false })
		s.until(func() bool { return strings.HasPrefix(s.do("GET", view, "").cacheStatus(), "hit") })
		b.replicate("x", a)
		s.settled()
	}
	s.do("POST", update, "")
	s.settled()
	s.get("nothing was changed", view, 200, rows("x", "3"), "")
	s.get("nothing was changed", view, 200, rows("x", "3"), "hit")
	if n := s.cache.Stats().Applied["unknown-outcome"]; n != 0 {
		t.Errorf("%d writes with an unknown outcome", n)
	}
}

// TestBatch checks that a write that the node postpones is visible when it is announced.
func TestBatch(t *testing.T) {
	s := newSite(t, 1)
	a := s.nodes[0]
	s.follow()
	s.do("PUT", "/db/x", "1")
	a.set(func() { a.deferWrites = true })
	if g := s.do("PUT", "/db/x?batch=ok", "2"); g.status != 202 {
		t.Fatalf("got %d %s", g.status, g.body)
	}
	s.get("put off", "/db/x", 200, "1", "")
	s.until(func() bool { return strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
	s.get("put off", "/db/x", 200, "1", "hit")
	a.store("x", "2")
	s.until(func() bool { return s.do("GET", "/db/x", "").body == "2" })
	s.until(func() bool { return strings.HasPrefix(s.do("GET", "/db/x", "").cacheStatus(), "hit") })
	s.get("done", "/db/x", 200, "2", "hit")
	if n := s.cache.Stats().Applied["unknown-outcome"]; n != 0 {
		t.Errorf("%d writes with an unknown outcome", n)
	}
}
