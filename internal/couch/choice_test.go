package couch

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/couch/route"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// TestConsistentHash shows that with consistent_hash reads of one URL have one node.
func TestConsistentHash(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Follow, c.HTTP.Group.Algorithm = false, balance.ConsistentHash })
	for _, n := range s.nodes {
		n.store("x", "1")
	}
	nodes := map[string]bool{}
	for n := range 64 { // nodes are chosen by their addresses too, which are others each time
		path := "/db/x?n=" + strconv.Itoa(n)
		first := s.ask("GET", path, "").header.Get("X-Node")
		for range 3 {
			if again := s.ask("GET", path, "").header.Get("X-Node"); again != first {
				t.Errorf("%s: read on %s, then on %s", path, first, again)
			}
		}
		nodes[first] = true
	}
	if len(nodes) != 2 {
		t.Errorf("all are read on %v", nodes)
	}
}

// TestPatience shows how long nodes have for what they may need an index for.
func TestPatience(t *testing.T) {
	f := func(path string, configured, want time.Duration) {
		t.Helper()
		c := Config{}
		c.HTTP.Group.Transport.HeadTimeout = configured
		r := route.Classify([]byte(http.MethodGet), nil, []byte(path), nil)
		if got := c.patience(&r); got != want {
			t.Errorf("%s with %s: %s; want %s", path, configured, got, want)
		}
	}
	f("/db/doc", 5*time.Second, 0)
	f("/db/_all_docs", 5*time.Second, 10*time.Minute)
	f("/db/_design/d/_view/v", time.Hour, time.Hour)
	f("/db/_design/d/_list/l/v", time.Hour, time.Hour)
}
