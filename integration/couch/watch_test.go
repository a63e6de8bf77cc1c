package couch

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// watched is a table that follows "db" on real nodes, each behind a proxy that injects faults.
type watched struct {
	testing.TB
	nodes    []*Node
	proxies  []*Proxy
	cache    *cache.Cache
	registry *telemetry.Registry
	table    *follow.Table
	db       *follow.Database
}

func watchDatabase(t *testing.T, nodes ...*Node) *watched {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w := &watched{TB: t, nodes: nodes, cache: c, registry: telemetry.NewRegistry()}
	var urls []string
	var by []*Node
	for i, n := range nodes {
		w.proxies = append(w.proxies, NewProxy(t, n))
		urls, by = append(urls, fmt.Sprint("node", i)), append(by, &Node{URL: w.proxies[i].URL})
	}
	w.table = follow.New(follow.Config{
		Service: "s", Nodes: urls, Do: do(by), Cache: c, Registry: w.registry, Log: slog.New(slog.DiscardHandler),
		Get: func(node int) follow.Get { return get(by[node]) },
	})
	t.Cleanup(w.table.Close)
	w.db = w.table.Use([]byte("db"))
	return w
}

// get returns a function that sends a follower's requests to a node.
func get(n *Node) follow.Get {
	return func(ctx context.Context, target string) (int, io.ReadCloser, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", n.URL+target, nil)
		if err != nil {
			return 0, nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, nil, err
		}
		return resp.StatusCode, resp.Body, nil
	}
}

// copied is a cached copy of a document, as a service would store it.
type copied struct {
	*watched
	stamp cache.Stamp
}

// keep caches a copy of a document as soon as a node's answer may be cached.
func (w *watched) keep(id string) *copied {
	w.Helper()
	g := follow.NewTagger("s")
	name, c := []byte("db"), &copied{watched: w}
	Await(w, "a node whose answer may be cached", func() bool {
		c.stamp = w.cache.Note(g.Database(name), g.Documents(name), g.Document(name, []byte(id)))
		return w.db.Current([]byte(id)) != 0 && w.db.Servable(w.cache.Now())
	})
	return c
}

func (c *copied) valid() bool { return c.cache.Current(&c.stamp) }

// current waits until the answers of exactly these nodes may be cached for a document, or for
// views if id is "".
func (w *watched) current(id string, want follow.NodeSet) {
	w.Helper()
	var of []byte
	if id != "" {
		of = []byte(id)
	}
	Await(w, fmt.Sprintf("nodes %b for %q", want, id), func() bool { return w.db.Current(of) == want })
}

// metric returns the value of a series as /metrics shows it.
func (w *watched) metric(series string) (value float64) {
	rec := httptest.NewRecorder()
	w.registry.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(rec.Body.String()) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				w.Fatal(err)
			}
			return value
		}
	}
	w.Fatalf("no %s in\n%s", series, rec.Body)
	return 0
}

// TestWatchThroughKills follows two nodes that replicate to each other while each is
// killed and restarted.
func TestWatchThroughKills(t *testing.T) {
	a, b := Disk(t), Disk(t)
	Pair(t, a, b, "db")
	w := watchDatabase(t, a, b)
	w.current("", 0b11)
	for round, n := range w.nodes {
		away, other := round, w.nodes[1-round]
		there := follow.NodeSet(1) << (1 - round)
		id := fmt.Sprint("doc", round)
		c := w.keep(id)
		n.Must(t, "PUT", "/db/"+id, "{}")
		Await(t, "the copy to be invalid", func() bool { return !c.valid() })
		w.current("", 0b11)

		c = w.keep(id)
		n.Kill()
		Await(t, "copies not to be served", func() bool { return !w.db.Servable(w.cache.Now()) })
		w.table.SetUp(away, false)
		w.current(id, there)
		Await(t, "copies to be served again", func() bool { return w.db.Servable(w.cache.Now()) })
		if !c.valid() {
			t.Error("the copy is invalid because a node is down")
		}
		rev := other.Must(t, "PUT", "/db/missed-"+id, "{}").Rev(t)
		Await(t, "the row of a write that the node misses", func() bool { return w.db.Current([]byte("missed-"+id)) == there })
		n.Restart(t)
		w.table.SetUp(away, true)
		n.AwaitRev(t, "/db/missed-"+id, rev)
		w.current("", 0b11)
	}
}

// TestWatchLag checks that a node that lacks a change is not read for the changed document,
// that the metrics show its lag, and that both end when the node has the change.
func TestWatchLag(t *testing.T) {
	a, b := Disk(t), Disk(t)
	a.Must(t, "PUT", "/db", "")
	b.Must(t, "PUT", "/db", "")
	w := watchDatabase(t, a, b)
	w.current("", 0b11)
	rev := a.Must(t, "PUT", "/db/x", "{}").Rev(t)
	w.current("x", 0b01)
	w.current("", 0b01)
	w.current("y", 0b11)
	const lag = `kasoku_couch_lag_seconds{node="node1",service="s"}`
	Await(t, "the lag to grow", func() bool { return w.metric(lag) > 0.5 })
	if got := w.metric(`kasoku_couch_lag_seconds{node="node0",service="s"}`); got != 0 {
		t.Errorf("lag of a node that has all changes: got %v, want 0", got)
	}
	if got := w.metric(`kasoku_couch_feed_lag_seconds{node="node1",service="s"}`); got > 1 {
		t.Errorf("feed lag of a node that is followed: got %v, want at most 1", got)
	}
	Replicate(t, a, b, "db")
	b.AwaitRev(t, "/db/x", rev)
	w.current("", 0b11)
	if got := w.metric(lag); got != 0 {
		t.Errorf("lag after the node has the change: got %v, want 0", got)
	}
}

// TestWatchFeedFaults cuts feeds, also in the middle of a row, sends rows twice, and pauses
// feeds.
func TestWatchFeedFaults(t *testing.T) {
	a, b := Disk(t), Disk(t)
	Pair(t, a, b, "db")
	w := watchDatabase(t, a, b)
	w.current("", 0b11)
	changes := func(what string, fault func(proxy *Proxy), mend func(proxy *Proxy)) {
		t.Helper()
		for i, n := range w.nodes {
			id := fmt.Sprint(what, i)
			c := w.keep(id)
			fault(w.proxies[i])
			n.Must(t, "PUT", "/db/"+id, "{}")
			n.Must(t, "PUT", "/db/other-"+id, "{}")
			Await(t, what+": the copy to be invalid", func() bool { return !c.valid() || !w.db.Servable(w.cache.Now()) })
			mend(w.proxies[i])
			Await(t, what+": the row", func() bool { return !c.valid() })
			w.current("", 0b11)
			w.keep(id)
		}
	}
	nothing := func(*Proxy) {}
	changes("cut", (*Proxy).CutFeeds, nothing)
	changes("row", (*Proxy).CutRow, nothing)
	changes("twice", func(proxy *Proxy) { proxy.Repeat(true) }, func(proxy *Proxy) { proxy.Repeat(false) })
	changes("still", func(proxy *Proxy) { proxy.Hold(true) }, func(proxy *Proxy) { proxy.Hold(false) })
}

// TestWatchUnfollowed checks that no copies are served while one node's feed is silent, even
// if the other's is not.
func TestWatchUnfollowed(t *testing.T) {
	a, b := Disk(t), Disk(t)
	Pair(t, a, b, "db")
	w := watchDatabase(t, a, b)
	w.current("", 0b11)
	c := w.keep("x")
	w.proxies[1].Hold(true)
	Await(t, "the end of max_unfollowed", func() bool { return !w.db.Servable(w.cache.Now()) })
	if got := w.metric(`kasoku_couch_unfollowed_databases{service="s"}`); got != 1 {
		t.Errorf("got %v unfollowed databases, want 1", got)
	}
	if lag := w.metric(`kasoku_couch_feed_lag_seconds{node="node1",service="s"}`); lag < 1 {
		t.Errorf("feed lag: got %v, want at least 1", lag)
	}
	w.proxies[1].Hold(false)
	Await(t, "the feed to continue", func() bool { return w.db.Servable(w.cache.Now()) })
	if !c.valid() {
		t.Error("the copy is invalid although nothing has changed")
	}
}

// TestWatchRecreation deletes the database on both nodes and makes it anew.
func TestWatchRecreation(t *testing.T) {
	a, b := Disk(t), Disk(t)
	for _, n := range []*Node{a, b} {
		n.Must(t, "PUT", "/db", "")
	}
	w := watchDatabase(t, a, b)
	w.current("", 0b11)
	c, born := w.keep("x"), w.db.Incarnation()
	a.Must(t, "DELETE", "/db", "")
	Await(t, "the copy to be invalid", func() bool { return !c.valid() && !w.db.Servable(w.cache.Now()) })
	w.current("x", 0)
	b.Must(t, "DELETE", "/db", "")
	a.Must(t, "PUT", "/db", "")
	w.current("x", 0b01)
	b.Must(t, "PUT", "/db", "")
	w.current("", 0b11)
	if w.db.Incarnation() == born {
		t.Error("the incarnation has not changed")
	}
	a.Must(t, "PUT", "/db/x", "{}")
	w.current("x", 0b01)
}

// TestWatchEndsWithTable checks that feeds end with the table.
func TestWatchEndsWithTable(t *testing.T) {
	a := Disk(t)
	a.Must(t, "PUT", "/db", "")
	w := watchDatabase(t, a)
	Await(t, "the feed", func() bool { return w.db.Servable(w.cache.Now()) && w.proxies[0].Feeds() == 1 })
	w.table.Close()
	Await(t, "the feed to end", func() bool { return w.proxies[0].Feeds() == 0 })
}
