package couch

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// restarts returns how often nodes are restarted: KASOKU_RESTARTS, six times by default.
func restarts(t *testing.T) int {
	text := os.Getenv("KASOKU_RESTARTS")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KASOKU_RESTARTS: %v", err)
	}
	return n
}

// seeded returns a random source with the seed KASOKU_SEED, 1 by default; "random" draws one.
func seeded(t *testing.T) *rand.Rand {
	seed := uint64(1)
	switch text := os.Getenv("KASOKU_SEED"); text {
	case "":
	case "random":
		seed = rand.Uint64()
	default:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("KASOKU_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("KASOKU_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// startReplicating starts a service that keeps "db" replicated both ways between nodes.
func startReplicating(t *testing.T, urls ...string) *couch.Service {
	t.Helper()
	c, err := cache.New(cache.Config{Memory: 1 << 20, Generations: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	space, err := c.NewSpace(0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := couch.New(couch.Config{
		Name: "s", Nodes: urls, Follow: true, Replicate: couch.Replicate{Databases: []string{"db"}, Both: true},
	}, space, telemetry.NewRegistry(), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// revs returns the winning revisions of all documents, by id.
func (n *Node) revs(t testing.TB, db string) map[string]string {
	t.Helper()
	var all struct {
		Rows []struct {
			ID    string
			Value struct{ Rev string }
		}
	}
	if err := json.Unmarshal([]byte(n.Must(t, "GET", "/"+db+"/_all_docs", "").Body), &all); err != nil {
		t.Fatal(err)
	}
	revs := map[string]string{}
	for _, row := range all.Rows {
		revs[row.ID] = row.Value.Rev
	}
	return revs
}

// TestReplicationThroughRestarts writes to two nodes while one or the other is killed and
// restarted. In the end they must be equal and have every document that was written.
func TestReplicationThroughRestarts(t *testing.T) {
	f := func(how string, hide ...string) {
		t.Run(how, func(t *testing.T) {
			nodes, proxies := []*Node{Disk(t), Disk(t)}, []*Proxy{}
			for _, n := range nodes {
				n.Must(t, "PUT", "/db", "")
				proxy := NewProxy(t, n)
				proxy.Hide(hide...)
				proxies = append(proxies, proxy)
			}
			s := startReplicating(t, proxies[0].URL, proxies[1].URL)
			r, written := seeded(t), 0
			write := func(n *Node) {
				for range 1 + r.IntN(5) {
					n.Must(t, "PUT", fmt.Sprint("/db/doc", written), "{}")
					written++
				}
			}
			equal := func() bool {
				a, b := nodes[0].revs(t, "db"), nodes[1].revs(t, "db")
				return len(a) == written && maps.Equal(a, b)
			}
			write(nodes[0])
			write(nodes[1])
			Await(t, "the nodes to be equal at the start", equal)
			for range restarts(t) {
				away := r.IntN(2)
				nodes[away].Kill()
				write(nodes[1-away])
				nodes[away].Restart(t)
				write(nodes[away])
				write(nodes[1-away])
				if r.IntN(2) == 0 {
					Await(t, "the nodes to be equal", equal)
				}
			}
			Await(t, "the nodes to be equal at the end", equal)
			Await(t, "the service to find nothing wrong", func() bool { return len(s.Report().Notes) == 0 })
		})
	}
	f("by documents")
	f("by requests", "/_replicator", "/_scheduler")
}
