package couch

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/couch/api"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// TestConsistentHash checks that with consistent_hash all reads of one URL are sent to one node.
func TestConsistentHash(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Follow, c.HTTP.Group.Algorithm = false, balance.ConsistentHash })
	for _, n := range s.nodes {
		n.store("x", "1")
	}
	nodes := map[string]bool{}
	for n := range 64 { // the choice depends on the nodes' addresses, which differ in each run
		path := "/db/x?n=" + strconv.Itoa(n)
		first := s.do("GET", path, "").header.Get("X-Node")
		for range 3 {
			if again := s.do("GET", path, "").header.Get("X-Node"); again != first {
				t.Errorf("%s: read from %s, then from %s", path, first, again)
			}
		}
		nodes[first] = true
	}
	if len(nodes) != 2 {
		t.Errorf("all URLs were read from %v", nodes)
	}
}

// TestIndexTimeouts checks the timeouts of answers that may need an index.
func TestIndexTimeouts(t *testing.T) {
	f := func(path string, configured, want time.Duration) {
		t.Helper()
		c := Config{}
		c.HTTP.Group.Transport.HeadTimeout = configured
		r := api.Classify([]byte(http.MethodGet), nil, []byte(path), nil)
		if got := c.headTimeout(&r); got != want {
			t.Errorf("%s with %s configured: got %s; want %s", path, configured, got, want)
		}
	}
	f("/db/doc", 5*time.Second, 0)
	f("/db/_all_docs", 5*time.Second, 10*time.Minute)
	f("/db/_design/d/_view/v", time.Hour, time.Hour)
	f("/db/_design/d/_list/l/v", time.Hour, time.Hour)
}

// TestDrain checks that a drained node gets no requests of clients until that is undone, and is
// still followed.
func TestDrain(t *testing.T) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	drain := func(undo bool, state string) {
		t.Helper()
		got, err := s.Drain(t.Context(), admin.DrainRequest{Origin: a.server.URL + "/", Undo: undo})
		if err != nil || got.State != state {
			t.Fatalf("got %+v, %v; want %s", got, err, state)
		}
	}
	write := func(node string) {
		t.Helper()
		if g := s.do("PUT", "/db/x", `{}`); g.header.Get("X-Node") != node {
			t.Errorf("%s took the write (%d)", g.header.Get("X-Node"), g.status)
		}
	}
	write("a")
	b.replicate("x", a)
	s.settled()
	drain(false, "drained")
	s.requests()
	for range 4 {
		s.do("GET", "/db", "")
	}
	write("b")
	for _, r := range s.requests() {
		if strings.HasPrefix(r, "a ") {
			t.Errorf("a drained node received %s", r)
		}
	}
	a.replicate("x", b)
	s.settled()
	drain(true, "up")
	s.until(func() bool {
		if s.do("PUT", "/db/y", `{}`).header.Get("X-Node") == "a" {
			return true
		}
		a.replicate("y", b)
		return false
	})
	if _, err := s.Drain(t.Context(), admin.DrainRequest{Origin: "http://c"}); err == nil {
		t.Error("an unknown node was drained")
	}
}
