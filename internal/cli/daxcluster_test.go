package cli

import (
	"encoding/hex"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// daxOf3 starts a cluster of three nodes and waits until all serve.
func daxOf3(t *testing.T) []*Node {
	t.Helper()
	origin := embeddedOrigin(t)
	a := inCluster(t, origin, "a")
	at := a.member.transport.Addr().String()
	nodes := []*Node{a, inCluster(t, origin, "b", at), inCluster(t, origin, "c", at)}
	serving(t, nodes...)
	return nodes
}

// daxClientOf connects to the DAX listener of a node.
func daxClientOf(t *testing.T, n *Node) *daxClient {
	t.Helper()
	conn, err := net.Dial("tcp", n.DAXAddr("orders").String())
	return hello(t, conn, err)
}

// text returns the next answer in hexadecimal.
func (c *daxClient) text() string {
	c.t.Helper()
	return hex.EncodeToString(c.answer())
}

// addressesOf returns the addresses of nodes as a client sorts them.
func addressesOf(nodes ...*Node) []string {
	var want []string
	for _, n := range nodes {
		want = append(want, n.DAXAddr("orders").String()+" kasoku-1a")
	}
	slices.Sort(want)
	return want
}

// TestDAXNodes lists the nodes of a cluster through each of them, while one of them dies.
func TestDAXNodes(t *testing.T) {
	nodes := daxOf3(t)
	lists := func(want []string, through ...*Node) {
		t.Helper()
		var clients []*daxClient
		for _, n := range through {
			c := daxClientOf(t, n)
			defer c.conn.Close()
			clients = append(clients, c)
		}
		// A member may be suspended for a moment, and is then not the leader for each node.
		await.Until(t, func() bool {
			leaders := map[string]bool{}
			for _, c := range clients {
				got := c.nodes()
				leaders[got[0]] = true
				slices.Sort(got)
				if !slices.Equal(got, want) {
					return false
				}
			}
			return len(leaders) == 1
		})
	}
	lists(addressesOf(nodes...), nodes...)
	left := addressesOf(nodes[0], nodes[2])
	nodes[1].member.transport.Close()
	lists(left, nodes[0], nodes[2])
	// The node that was cut off lists all, itself last.
	c := daxClientOf(t, nodes[1])
	await.Until(t, func() bool {
		got := c.nodes()
		return len(got) == 3 && got[2] == addressesOf(nodes[1])[0]
	})
}

// TestDAXNodesDrain ends the listener of one node, which the others omit while it is a member.
func TestDAXNodesDrain(t *testing.T) {
	nodes := daxOf3(t)
	c := daxClientOf(t, nodes[0])
	await.Until(t, func() bool { return len(c.nodes()) == 3 }) // a member may be suspended for a moment
	other := daxClientOf(t, nodes[2])
	nodes[2].mu.Lock()
	m := nodes[2].find("orders")
	front := m.dax
	m.dax = nil
	nodes[2].mu.Unlock()
	ended := make(chan error)
	go func() { ended <- nodes[2].leaveDAX(t.Context(), "orders", front) }()
	want := addressesOf(nodes[0], nodes[1])
	for _, through := range []*daxClient{c, other} {
		await.Until(t, func() bool {
			got := through.nodes()
			slices.Sort(got)
			return slices.Equal(got, want)
		})
	}
	if s := nodes[0].member.Status(); len(s.Members) != 3 {
		t.Errorf("the members are %v", s.Members)
	}
	other.conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestDAXListsOfOtherNodes requests the names of a list from a node that has not numbered it.
func TestDAXListsOfOtherNodes(t *testing.T) {
	nodes := daxOf3(t)
	const defineID, defineList = "013a495927bb", "011a27f9bd71"
	list := hex.EncodeToString(cbor.AppendText(cbor.AppendText(cbor.AppendArray(nil, 2), "age"), "name"))
	a := daxClientOf(t, nodes[0])
	a.send(defineID + list)
	id := a.text()
	if !strings.HasPrefix(id, "80") {
		t.Fatalf("no number: %s", id)
	}
	for _, n := range nodes[1:] {
		c := daxClientOf(t, n)
		c.send(defineList + id[2:])
		if got := c.text(); got != "80"+list {
			t.Errorf("the names are %s, want %s", got, "80"+list)
		}
		c.conn.Close()
	}
	nodes[0].member.transport.Close()
	nodes[1].member.transport.Close()
	c := daxClientOf(t, nodes[2]) // it has stored the list
	c.send(defineList + id[2:])
	if got := c.text(); got != "80"+list {
		t.Errorf("the names are %s without the other nodes, want %s", got, "80"+list)
	}
	start := time.Now()
	c.send(defineList + "184d")
	if got := c.text(); strings.HasPrefix(got, "80") || time.Since(start) > 10*time.Second {
		t.Errorf("an unknown list is %s after %v", got, time.Since(start))
	}
}
