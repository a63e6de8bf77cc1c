package service

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestBlog repeats a blog's measurement of Varnish in 2010: ab requests a document, a view and a
// list from two nodes that replicate to each other, with caching off and on, also while one node is
// killed and restarted. No request may fail.
func TestBlog(t *testing.T) {
	size := blog()
	a, b := pair(t, size.tweets)
	paths := []string{"/tweets/t00007", "/tweets" + view, "/tweets" + list(size.cut)}
	for _, mode := range []struct{ name, line string }{{"caching off", "follow_changes: false"}, {"caching on", "follow_changes: true"}} {
		t.Run(mode.name, func(t *testing.T) {
			n := startKasoku(t, []string{a.URL, b.URL}, mode.line)
			for _, path := range paths {
				for _, when := range []string{"cold", "warm"} {
					l := mustAB(t, n.URL+path, size.requests)
					t.Logf("%s, %s: %.0f requests/s", path, when, l.Rate)
				}
			}
			restartUnder(t, a, n.URL, paths, size.requests)
			restartUnder(t, b, n.URL, paths, size.requests)
		})
	}
}

// conns is the number of connections of ab.
const conns = 30

// mustAB runs ab. No request may fail.
func mustAB(t *testing.T, url string, requests int) harness.Load {
	t.Helper()
	l, err := harness.AB(t.Context(), url, requests, conns)
	if err != nil {
		t.Fatal(err)
	}
	if l.Failed != 0 || l.Non2xx != 0 {
		t.Errorf("%s: %d of %d requests failed, %d had another status than 2xx", url, l.Failed, l.Complete, l.Non2xx)
	}
	return l
}

// restartUnder kills a node and restarts it while ab repeatedly requests the paths.
func restartUnder(t *testing.T, node *couch.Node, url string, paths []string, requests int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var runs atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			for _, path := range paths {
				l, err := harness.AB(t.Context(), url+path, requests, conns)
				if err != nil || l.Failed != 0 || l.Non2xx != 0 {
					t.Errorf("%s while a node restarts: %d failed, %d had another status than 2xx: %v", path, l.Failed, l.Non2xx, err)
				}
				runs.Add(1)
			}
		}
	}()
	awaitRound := func() {
		target := runs.Load() + int64(len(paths)) + 1 // one may be under way
		couch.Await(t, "another ab", func() bool { return runs.Load() >= target })
	}
	awaitRound()
	node.Kill()
	awaitRound()
	node.Restart(t)
	awaitRound()
	cancel()
	<-ended
}
