//go:build unix

package cluster

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// TestOwnerWithoutOrigin holds the origin's answers to one node: a miss through another node,
// which asks the first one if that is the owner of the key, must not wait for it for long.
func TestOwnerWithoutOrigin(t *testing.T) {
	s := start(t, store(t), 3)
	s.createTable()
	const keys = 60
	for i := range keys {
		s.mustPut(s.nodes[0], fmt.Sprint(i), "1")
	}
	s.net.Hold(origin, "b")
	var slowest time.Duration
	for i := range keys {
		began := time.Now()
		if value, _, err := s.nodes[2].get(fmt.Sprint(i)); err != nil || value != "1" {
			t.Errorf("got %q, %v", value, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	s.net.Release(origin, "b")
	t.Logf("the slowest of %d reads took %s", keys, slowest)
	if slowest > 2*time.Second {
		t.Errorf("a read waited for the owner of the key, for %s", slowest)
	}
}

// slowed starts a proxy before a store that delays GetItem of the scenarios' table, and returns
// its address and the number of these requests.
func slowed(t *testing.T, store string, by time.Duration) (string, *atomic.Int64) {
	target, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	var gets atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has ended the request
		}
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") && bytes.Contains(body, []byte(`"items"`)) {
			gets.Add(1)
			pause.For(r.Context(), by)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &gets
}

// TestColdKey has a thousand clients of three nodes request an item that no node has: the
// origin is asked for it once. On a machine that runs other tests too, the owner's sign of life
// may be late; then another node asks as well.
func TestColdKey(t *testing.T) {
	store := store(t)
	url, gets := slowed(t, store, 100*time.Millisecond)
	s := start(t, url, 3, func(o *harness.Options) { o.Plain = true }) // the race detector makes nodes slow
	s.createTable()
	const keys, clients = 3, 1000
	var counts []int64
	for k := range keys {
		key := fmt.Sprint("cold", k)
		s.mustPut(&node{Node: &harness.Node{URL: store}, name: "the store"}, key, "1")
		before := gets.Load()
		var reading sync.WaitGroup
		for i := range clients {
			reading.Go(func() {
				if value, _, err := s.nodes[i%len(s.nodes)].get(key); err != nil || value != "1" {
					t.Errorf("got %q, %v", value, err)
				}
			})
		}
		reading.Wait()
		counts = append(counts, gets.Load()-before)
		if gets.Load()-before > 1 {
			for _, n := range s.nodes {
				t.Logf("%s: %s", n.name, metricLines(t, n, "kasoku_cluster_peer_asked_total"))
			}
		}
	}
	t.Logf("requests to the origin for each of %d keys: %d", keys, counts)
	for _, n := range counts {
		if n < 1 || n > int64(len(s.nodes)) {
			t.Errorf("the origin was asked %d times for a key, want once", n)
		}
	}
}

// metricLines returns the series of a metric of a node.
func metricLines(t *testing.T, n *node, name string) string {
	text, err := n.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, name) {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "; ")
}
