//go:build unix

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
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

// reads counts the reads of items at an origin.
type reads struct{ hot, cold atomic.Int64 }

// counted returns the URL of an origin that passes requests on to the one at target, and counts
// reads of items: hot ones and others.
func counted(t *testing.T, target string) (address string, n *reads) {
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	n = new(reads)
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.ErrorLog = log.New(io.Discard, "", 0) // a node that stops ends its requests
	return harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			switch {
			case bytes.Contains(body, []byte(`"hot-`)):
				n.hot.Add(1)
			case bytes.Contains(body, []byte(`"cold-`)):
				n.cold.Add(1)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	})), n
}

// hotKeys is the number of items that clients read all the time.
const hotKeys = 300

// load reads items at nodes: mostly hot ones, and one in twenty that was not read before.
type load struct {
	cold atomic.Int64
}

// read reads the i-th item at n, and reports whether it was a hit.
func (l *load) read(n *node, i int) (hit bool, err error) {
	if i%20 == 19 {
		_, hit, err = n.get(fmt.Sprint("cold-", l.cold.Add(1)))
		return hit, err
	}
	k := fmt.Sprint("hot-", i*7919%hotKeys)
	value, hit, err := n.get(k)
	if err == nil && value != k {
		err = fmt.Errorf("%s is %q", k, value)
	}
	return hit, err
}

// hitRate returns the hit rate of n in so many reads.
func (l *load) hitRate(t *testing.T, n *node, count int) float64 {
	t.Helper()
	hits := 0
	for i := range count {
		hit, err := l.read(n, i)
		if err != nil {
			t.Fatal(err)
		}
		if hit {
			hits++
		}
	}
	return float64(hits) / float64(count)
}

// warming reports whether n takes over answers of other nodes.
func (n *node) warming() bool {
	resp, err := admin.Get(n.Admin + "/api/v1/cluster")
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	var status struct{ Warming *struct{} }
	err = json.NewDecoder(resp.Body).Decode(&status)
	return err != nil || status.Warming != nil
}

// TestRestartUnderLoad restarts one of three nodes while clients read through all that are ready.
// The origin gets hardly more requests than before, and ten seconds later the hit rate of the node
// is that of the others. Requests are counted rather than timed.
func TestRestartUnderLoad(t *testing.T) {
	address, origin := counted(t, store(t))
	// The longer lease lets a slow machine keep it: without one, reads are passed to the origin.
	s := start(t, address, 3, func(o *harness.Options) { o.Top = append(o.Top, "  lease: 5s") })
	s.createTable()
	for i := range hotKeys {
		k := fmt.Sprint("hot-", i)
		s.mustPut(s.nodes[i%3], k, k)
	}
	var l load
	for _, n := range s.nodes {
		l.hitRate(t, n, hotKeys*20/19+20) // all hot items that are read
	}
	c := s.nodes[2]
	before := l.hitRate(t, c, 500)

	hot, cold := origin.hot.Load(), origin.cold.Load()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var running sync.WaitGroup
	b := &balancer{nodes: s.nodes}
	for w := range 3 {
		running.Go(func() {
			for i := w; ctx.Err() == nil; i += 3 {
				err := b.do(func(n *node) error {
					_, err := l.read(n, i)
					return err
				})
				// For a moment, a slow machine may have no node that is ready.
				if err != nil && !errors.Is(err, errNoneReady) && ctx.Err() == nil {
					t.Errorf("a read failed: %v", err)
					return
				}
				pause.For(ctx, time.Millisecond)
			}
		})
	}
	c.Terminate(t)
	c.Restart(t)
	harness.Await(t, "all nodes serve", 20*time.Second, s.whole)
	took := harness.Await(t, "the node is warm", 10*time.Second, func() bool { return !c.warming() })
	harness.Await(t, "there are enough reads to compare", 20*time.Second, func() bool { return origin.cold.Load()-cold >= 40 })
	cancel()
	running.Wait()
	hot, cold = origin.hot.Load()-hot, origin.cold.Load()-cold
	t.Logf("warm %s after it serves; meanwhile the origin got %d requests for items that were cached, and %d for others", took, hot, cold)
	// A few, since a node on a machine under load may not reply in time.
	if limit := cold/10 + hotKeys/30; hot > limit {
		t.Errorf("the origin got %d requests for items that the other nodes have, beside %d for others; want at most %d", hot, cold, limit)
	}
	others := l.hitRate(t, s.nodes[0], 500)
	after := l.hitRate(t, c, 500)
	t.Logf("hit rates: %.3f before, %.3f after the restart, %.3f of another node", before, after, others)
	if after < others-0.02 {
		t.Errorf("the hit rate of the node is %.3f, of the others %.3f", after, others)
	}
}
