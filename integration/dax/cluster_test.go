package dax

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/integration/dax/client"
	"github.com/kasoku/kasoku/integration/harness"
	"github.com/kasoku/kasoku/integration/model"
)

// startCluster starts a cluster of three nodes with DAX before an origin.
func startCluster(t *testing.T) (url string, nodes []*harness.Node) {
	t.Helper()
	url = harness.Origin(t, model.New())
	mustCall(t, url, "CreateTable", strings.ReplaceAll(simple("s", "id", "S"), "RUN-", ""))
	var join string
	for _, name := range []string{"a", "b", "c"} {
		address, err := harness.StablePort()
		if err != nil {
			t.Fatal(err)
		}
		if join == "" {
			join = address
		}
		nodes = append(nodes, harness.Start(t, harness.Options{
			Origin: url, DAX: true, Service: []string{open},
			Top: []string{fmt.Sprintf("cluster: {name: dax, node: %s, listen: %q, join: [%q]}", name, address, join)},
		}))
	}
	return url, nodes
}

// TestCluster connects a client to one of three nodes. It finds the others, and continues on
// the last one after each death of a node, with the numbers of lists that it has had from the
// first one.
func TestCluster(t *testing.T) {
	_, nodes := startCluster(t)
	cluster, err := client.NewCluster(t.Context(), nodes[0].DAX, true)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	lists := func(left ...*harness.Node) {
		t.Helper()
		var want []string
		for _, n := range left {
			want = append(want, strings.TrimPrefix(n.DAX, "dax://"))
		}
		slices.Sort(want)
		await(t, fmt.Sprint("the nodes are ", want), func() bool { return slices.Equal(cluster.Nodes(), want) })
	}
	lists(nodes...)
	seen := map[string]bool{}
	item := client.Item{"v": `{"N":"1"}`, "w": `{"S":"x"}`}
	use := func() {
		t.Helper()
		for i := range 20 {
			key := []byte(fmt.Sprint(i))
			if err := cluster.Do(func(c *client.Conn) error {
				seen[c.Addr()] = true
				if _, err := c.Put(t.Context(), "s", key, item, false); err != nil {
					return err
				}
				got, err := c.Get(t.Context(), "s", key, false)
				if err == nil && fmt.Sprint(got) != fmt.Sprint(item) {
					t.Errorf("item %d is %v", i, got)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	use()
	if len(seen) < 2 {
		t.Errorf("the client has used the nodes %v only", seen)
	}
	nodes[1].Kill()
	lists(nodes[0], nodes[2])
	use()

	// The numbers of the node that dies are valid at the last one.
	first := client.New(nodes[0].DAX)
	defer first.Close()
	id, err := first.List(t.Context(), []string{"only", "here"})
	if err != nil {
		t.Fatal(err)
	}
	last := client.New(nodes[2].DAX)
	defer last.Close()
	names, err := last.Names(t.Context(), id)
	if want := []string{"only", "here"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("list %d is %q at another node, %v; want %q", id, names, err, want)
	}
	nodes[0].Kill()
	// The client can't fetch the list any more, and keeps the dead node in its own.
	for i := range 5 {
		await(t, "a write through the last node", func() bool {
			return cluster.Do(func(c *client.Conn) error {
				_, err := c.Put(t.Context(), "s", []byte(fmt.Sprint("last ", i)), item, false)
				return err
			}) == nil
		})
	}
}

// listInterval is longer than the clients' interval between requests for the list, after which
// they use the dead node no more. Before that Python's client reports some refused connections.
const listInterval = 8 * time.Second

// TestClusterClients kills one of three nodes under clients that keep connections and numbers of
// lists. They have the address of another one, from which they fetch the list of nodes.
func TestClusterClients(t *testing.T) {
	url, nodes := startCluster(t)
	some := slices.DeleteFunc(drivers(), func(c driver) bool { return !slices.Contains(reconnecting, c.name) })
	var arrived sync.WaitGroup
	arrived.Add(2 * len(some)) // both sides
	out := make(chan struct{})
	gate := harness.Origin(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		<-out
		io.WriteString(w, "out")
	}))
	var work []step
	do := func(name, operation, format string, of ...any) {
		work = append(work, step{Step: name, Op: operation, Params: json.RawMessage(fmt.Sprintf(format, of...))})
	}
	for _, phase := range []string{"before", "after"} {
		if phase == "after" {
			do("wait", "Wait", `{"URL":%q}`, gate)
		}
		for i := range 10 {
			do(fmt.Sprintf("put-%s-%d", phase, i), "PutItem", `{"TableName":"RUN-s","Item":{"id":{"S":"%d"},"a%[1]d":{"N":"%[1]d"},"b":{"S":%q}}}`, i, phase)
			do(fmt.Sprintf("get-%s-%d", phase, i), "GetItem", `{"TableName":"RUN-s","Key":{"id":{"S":"%d"}}}`, i)
		}
	}
	input, err := lines(work)
	if err != nil {
		t.Fatal(err)
	}
	run := unique("cluster")
	var done sync.WaitGroup
	for _, c := range some {
		for _, side := range []string{"x", "y"} {
			create(t, url, c.name+"-"+run+"-"+side+"-")
		}
		done.Go(func() {
			answers, err := c.run(t, nodes[0].DAX, url, run, input)
			if err != nil {
				t.Error(err)
				return
			}
			for _, d := range compare(c.name, work, answers) {
				t.Error(d)
			}
		})
	}
	waiting, ended := make(chan struct{}), make(chan struct{})
	go func() { arrived.Wait(); close(waiting) }()
	go func() { done.Wait(); close(ended) }()
	select {
	case <-waiting:
	case <-ended:
		t.Fatal("the clients ended before the node was killed")
	}
	nodes[1].Kill()
	probe := connect(t, nodes[2])
	probe.put("probe", client.Item{"v": `{"N":"1"}`}) // returns when the node is out
	<-time.After(listInterval)
	close(out)
	<-ended
}
