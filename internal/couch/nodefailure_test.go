package couch

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestNodeFailsDuringAnswer checks that a read whose node fails during its answer is answered by
// another node, and that its client gets nothing of the first answer.
func TestNodeFailsDuringAnswer(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Buffer = 64 << 10 })
	a, b := s.nodes[0], s.nodes[1]
	long := strings.Repeat("x", 32<<10)
	a.store("x", long)
	b.replicate("x", a)
	s.follow()
	n := 0
	for what, path := range map[string]string{
		"a document": "/db/x?revs=true", "a view": view + "?limit=2", "a list": "/db/_design/d/_list/l/v?limit=2", "not kept": "/db/x?local_seq=true",
	} {
		for _, first := range s.nodes {
			first.set(func() { first.cutReads = 1 })
			for i := 0; ; i++ { // each node in turn
				n++
				g := s.do("GET", fmt.Sprint(path, "&n=", n), "")
				if g.status != 200 || g.err != nil || !strings.Contains(g.body, long) {
					t.Errorf("%s: %d, %d bytes, %v (%s)", what, g.status, len(g.body), g.err, g.cacheStatus())
				}
				if first.allCut() {
					break
				}
				if i == 8 {
					t.Fatalf("%s: %s was not queried", what, first.name)
				}
			}
		}
	}
	if n := s.engine.Stats().InFlight; n != 0 {
		t.Errorf("%d buffered bytes are still counted", n)
	}
}

// allCut reports whether the node has cut all the answers that it was to cut.
func (n *node) allCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cutReads == 0
}

// TestBothNodesFailDuringAnswer checks that an answer that all nodes cut is an error, and that an
// answer longer than the buffer, of which the client has received a part, is cut.
func TestBothNodesFailDuringAnswer(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Buffer = 64 << 10 })
	a, b := s.nodes[0], s.nodes[1]
	a.store("x", "1")
	b.replicate("x", a)
	s.follow()
	for _, n := range s.nodes {
		n.set(func() { n.cutReads = 8 })
	}
	if g := s.do("GET", "/db/x?local_seq=true", ""); g.status != 502 {
		t.Errorf("got %d %s", g.status, g.body)
	}
	for _, n := range s.nodes {
		n.set(func() { n.cutReads = 0 })
	}
	a.store("x", strings.Repeat("x", 256<<10))
	b.replicate("x", a)
	s.settled()
	for _, n := range s.nodes {
		n.set(func() { n.cutReads = 8 })
	}
	if g := s.do("GET", "/db/x?local_seq=true", ""); g.status != 200 || g.err == nil {
		t.Errorf("longer than the buffer: got %d, %v", g.status, g.err)
	}
}

// TestSlowAnswerIsStreamed checks that the first half of an answer reaches its client although the
// second half is late.
func TestSlowAnswerIsStreamed(t *testing.T) {
	s := newSite(t, 2, func(c *Config) { c.Buffer = 64 << 10 })
	a, b := s.nodes[0], s.nodes[1]
	a.store("x", strings.Repeat("x", 8<<10))
	b.replicate("x", a)
	s.follow()
	pauses := make(chan struct{})
	for _, n := range s.nodes {
		n.set(func() { n.pauses = pauses })
	}
	resp, err := s.client.Get("http://" + s.addr + "/db/x?local_seq=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	if first, err := body.Peek(100); resp.StatusCode != http.StatusOK || err != nil || strings.Trim(string(first), "x") != "" {
		t.Errorf("got %d %q, %v", resp.StatusCode, first, err)
	}
	close(pauses)
	if text, err := body.ReadString('\n'); len(text) != 8<<10+1 || err != nil {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}
