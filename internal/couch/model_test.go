package couch

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestHistories runs random writes and reads through Kasoku in front of two nodes that replicate
// with a delay, of which one takes the writes: every read returns everything written before, from
// memory or from a node.
func TestHistories(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { playHistory(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func playHistory(t *testing.T, r *rand.Rand) {
	s := newSite(t, 2)
	a, b := s.nodes[0], s.nodes[1]
	s.follow()
	written := map[string]string{}
	ids := []string{"a", "b", "c"}
	hits := 0
	for step := range 120 {
		id := ids[r.IntN(len(ids))]
		switch what := r.IntN(10); {
		case what == 0:
			written[id] = fmt.Sprint(step)
			if g := s.do("PUT", "/db/"+id, written[id]); g.status != 201 {
				t.Fatalf("step %d: the write got status %d", step, g.status)
			}
		case what == 1:
			for _, id := range ids {
				if written[id] != "" && b.doc(id).rev != a.doc(id).rev {
					b.replicate(id, a)
				}
			}
		case what == 2:
			if g := s.do("PUT", "/db/_local/x", "1"); g.status != 200 {
				t.Fatalf("step %d: the deletion got status %d", step, g.status)
			}
		case what < 6:
			g := s.do("GET", view, "")
			if want := rows(inOrder(ids, written)...); g.body != want {
				t.Fatalf("step %d: got the view %s (%s); want %s", step, g.body, g.cacheStatus(), want)
			}
			hits += strings.Count(g.cacheStatus(), "hit")
		default:
			g := s.do("GET", "/db/"+id, "")
			want := written[id]
			if want == "" {
				want = missing
			}
			if g.body != want {
				t.Fatalf("step %d: document %s: got %s (%s); want %s", step, id, g.body, g.cacheStatus(), want)
			}
			hits += strings.Count(g.cacheStatus(), "hit")
		}
	}
	if hits == 0 {
		t.Error("no read was served from memory")
	}
}

// inOrder returns the existing documents with their values.
func inOrder(ids []string, written map[string]string) (pairs []string) {
	for _, id := range ids {
		if written[id] != "" {
			pairs = append(pairs, id, written[id])
		}
	}
	return pairs
}

// doc returns the node's document.
func (n *node) doc(id string) document {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.docs[id]
}
