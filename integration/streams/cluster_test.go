package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/fault"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/internal/pause"
)

// TestCluster kills the node of three that reads the stream. Writes at the store are visible through
// all nodes in time before, and through the others while another one takes over. No read through
// these fails.
func TestCluster(t *testing.T) {
	t.Parallel()
	length := runTime(t, 2*time.Second)
	url := store(t, max(2*time.Second, length/5))
	createTable(t, url, "items")
	nodes := cluster(t, url, 3, nil)
	var urls []string
	for _, n := range nodes {
		awaitServed(t, n, "items")
		urls = append(urls, n.URL)
	}
	w := newWorkload(t, url, "items", urls...)
	w.run(func(ctx context.Context) {
		pause.For(ctx, length)
		reader := -1
		harness.Await(t, "a node reads the stream in time", startupLimit, func() bool {
			reader = readerOf(t, nodes, "items")
			return reader >= 0
		})
		others := append(append([]*harness.Node{}, nodes[:reader]...), nodes[reader+1:]...)
		fences, calls := sum(t, others, "kasoku_streams_fences_total"), sum(t, others, "kasoku_streams_calls_total")
		if calls > 0 {
			t.Errorf("nodes that don't read the stream have sent %.0f calls for it", calls)
		}
		w.nodes[reader].takeOut()
		probes := cacheProbes(t, w, others)
		lagging := w.lagging.Load()
		killed := time.Now()
		nodes[reader].Kill()
		harness.Await(t, "the others are the cluster, and one of them reads the stream", startupLimit, func() bool {
			return members(others[0]) == len(others) && readerOf(t, others, "items") >= 0
		})
		took := time.Since(killed)
		for _, n := range others {
			awaitServed(t, n, "items")
		}
		hits := 0
		for i, probe := range probes {
			if mustSend(t, others[i%len(others)].URL, "GetItem", probe).hit {
				hits++
			}
		}
		t.Logf("another node reads the stream %s after the reader was killed, and all serve from memory after %s; meanwhile %d requests passed through; %.0f fences; of %d items that were cached before %d are hits",
			took.Round(time.Millisecond), time.Since(killed).Round(time.Millisecond), w.lagging.Load()-lagging,
			sum(t, others, "kasoku_streams_fences_total")-fences, len(probes), hits)
		pause.For(ctx, length/2)
	})
	r := w.result()
	r.verify(t)
	r.verifyHits(t)
}

// TestLosses loses messages between the nodes of a cluster by resetting their connections. Writes at
// the store are visible through all nodes in time, or requests pass through.
func TestLosses(t *testing.T) {
	t.Parallel()
	length := runTime(t, 4*time.Second)
	url := store(t, max(2*time.Second, length/5))
	createTable(t, url, "items")
	network := fault.NewNetwork()
	nodes := cluster(t, url, 3, network)
	var urls []string
	for _, n := range nodes {
		awaitServed(t, n, "items")
		urls = append(urls, n.URL)
	}
	w := newWorkload(t, url, "items", urls...)
	messages := func() (repeated, sent float64) {
		repeated = sum(t, nodes, "kasoku_cluster_resends_total")
		return repeated, repeated + sum(t, nodes, "kasoku_cluster_rounds_total")*float64(len(nodes)-1)
	}
	resets := 0
	w.run(func(ctx context.Context) {
		end := time.Now().Add(length)
		harness.Await(t, "a message of an invalidation is lost", length+startupLimit, func() bool {
			from := rand.IntN(len(nodes))
			a, b := nodeName(from), nodeName((from+1)%len(nodes))
			network.Cut(a, b)
			pause.For(ctx, time.Duration(rand.IntN(100))*time.Millisecond)
			network.Reset(a, b)
			network.Heal(a, b)
			resets++
			pause.For(ctx, time.Duration(rand.IntN(300))*time.Millisecond)
			repeated, _ := messages()
			return time.Now().After(end) && repeated > 0
		})
	})
	repeated, sent := messages()
	t.Logf("%d resets; %.0f of %.0f messages of invalidations were repeated; %.0f writes were refused; %.0f suspensions, %.1fs without a lease", resets, repeated, sent,
		sum(t, nodes, "kasoku_cluster_refused_total"), sum(t, nodes, "kasoku_cluster_suspensions_total"), sum(t, nodes, "kasoku_cluster_without_lease_seconds_total"))
	// In a short run the share depends on chance, and on how fast connections return.
	if length >= 5*time.Minute && 100*repeated < sent {
		t.Error("less than 1% of the messages were lost")
	}
	r := w.result()
	r.verify(t)
	if 10*r.hits < r.requests {
		t.Errorf("only %d of %d reads were hits: the run hardly tests the cache", r.hits, r.requests)
	}
}

func nodeName(i int) string { return fmt.Sprint("node-", i) }

// cluster starts a cluster in front of an origin. If network is not nil, its nodes connect to each other
// through it.
func cluster(t *testing.T, origin string, count int, network *fault.Network) (nodes []*harness.Node) {
	t.Helper()
	var listen, advertised []string
	for i := range count {
		port, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		listen = append(listen, port)
		if network != nil {
			port = network.Proxy(t, nodeName(i), port, fault.NATSRoute)
		}
		advertised = append(advertised, port)
	}
	for i := range count {
		nodes = append(nodes, accelerate(t, origin, following, func(o *harness.Options) {
			o.Top = []string{"cluster:", "  name: streams", "  node: " + nodeName(i), "  listen: " + listen[i],
				"  advertise: " + advertised[i], "  join: [" + strings.Join(advertised, ", ") + "]"}
		}))
	}
	for _, n := range nodes {
		harness.Await(t, "all nodes are members", startupLimit, func() bool { return members(n) == count })
	}
	return nodes
}

// members returns the number of members in the view of n, or 0 unless all of them serve.
func members(n *harness.Node) int {
	resp, err := client.Get(n.Admin + "/api/v1/cluster")
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var status struct{ Members []struct{ State string } }
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		return 0
	}
	for _, m := range status.Members {
		if m.State != "serving" {
			return 0
		}
	}
	return len(status.Members)
}

// readerOf returns which of the nodes reads the stream of a table, in time, and -1 if none does.
func readerOf(t *testing.T, nodes []*harness.Node, table string) int {
	t.Helper()
	for i, n := range nodes {
		if s, found := streamOf(t, n, table); found && s.Served && s.Reader == "" && len(s.Shards) > 0 {
			return i
		}
	}
	return -1
}

func sum(t *testing.T, nodes []*harness.Node, name string) (all float64) {
	t.Helper()
	for _, n := range nodes {
		all += metric(t, n, name)
	}
	return all
}

// cacheProbes caches items that are not written, in nodes by turns, and returns the reads.
func cacheProbes(t *testing.T, w *workload, nodes []*harness.Node) (reads []string) {
	t.Helper()
	for i := range 40 {
		read := fmt.Sprintf(`{"TableName":%q,"Key":{"p":{"S":"probe-%d"},"s":{"N":"%d"}}}`, w.table, i, rand.IntN(100))
		harness.Await(t, "a read is a hit", startupLimit, func() bool {
			return mustSend(t, nodes[i%len(nodes)].URL, "GetItem", read).hit
		})
		reads = append(reads, read)
	}
	return reads
}
