package couch

import (
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// TestWritesToAnyNode checks that with writes to any node all writes of a document are sent to
// one node, and so are the client's reads.
func TestWritesToAnyNode(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Writes = WritesAny })
	s.follow()
	s.requests()
	for n := range 64 { // the choice depends on the nodes' addresses, which differ in each run
		id := strconv.Itoa(n)
		first := s.do("PUT", "/db/"+id, id)
		second := s.do("PUT", "/db/"+id, id+id)
		read := s.do("GET", "/db/"+id, "")
		if first.header.Get("X-Node") != second.header.Get("X-Node") || read.body != id+id {
			t.Errorf("%s: written to %s and %s, read %s", id, first.header.Get("X-Node"), second.header.Get("X-Node"), read.body)
		}
	}
	if len(s.nodes[0].requests()) == 0 || len(s.nodes[1].requests()) == 0 {
		t.Error("all writes were sent to one node")
	}
}

// TestAnyFailback checks that with writes to any node a document that another node has taken over
// is written there until its own node lacks none of its revisions.
func TestAnyFailback(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Writes = WritesAny })
	s.follow()
	own, other := s.nodes[0], s.nodes[1]
	if s.do("PUT", "/db/x", "1").header.Get("X-Node") == "b" {
		own, other = other, own
	}
	other.replicate("x", own)
	s.settled()
	from := func(what, body string, node *node) {
		t.Helper()
		if g := s.do("PUT", "/db/x", body); g.status != 201 || g.header.Get("X-Node") != node.name {
			t.Errorf("%s: %d from %s, want %s", what, g.status, g.header.Get("X-Node"), node.name)
		}
	}
	own.set(func() { own.status = 503 })
	from("its own node fails", "2", other)
	own.set(func() { own.status = 0 })
	from("its own node lacks that", "3", other)
	own.replicate("x", other)
	s.settled()
	from("its own node has all", "4", own)
}

// TestAnyReadsOwn checks that with writes to any node a client reads results from the node that
// took its last write while no node has everything.
func TestAnyReadsOwn(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Writes = WritesAny })
	s.follow()
	ids := [2]string{} // a document of each node
	for n := 0; ids[0] == "" || ids[1] == ""; n++ {
		node := s.do("PUT", "/db/"+strconv.Itoa(n), "1").header.Get("X-Node")
		ids[node[0]-'a'] = strconv.Itoa(n)
	}
	clients := [2]*http.Client{clientAt(t, 2), clientAt(t, 3)}
	on := func(client int, method, path, body string) string {
		s.client = clients[client]
		return s.do(method, path, body).header.Get("X-Node")
	}
	for began, over := time.Now(), false; !over; began = time.Now() {
		var read [2]string
		for i := range clients {
			on(i, "PUT", "/db/"+ids[i], "2")
		}
		for i := range clients {
			read[i] = on(i, "GET", view, "")
		}
		// Older writes are presumed to be on all nodes.
		if over = time.Since(began) < s.settings.Load().cfg.MaxLag; over && read != [2]string{"a", "b"} {
			t.Errorf("the result was read from %q", read)
		}
	}
}

// clientAt returns a client with an address of its own.
func clientAt(t *testing.T, n byte) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, n)}}
	transport := &http.Transport{DialContext: dialer.DialContext, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
