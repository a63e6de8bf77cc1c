package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/integration/couch"
	"github.com/kasoku/kasoku/integration/fault"
)

// TestHistoryWithBothNodesWritten is TestHistory with writes to both nodes. Each of them fails, is
// killed and restarted. In the end they are equal and have every acknowledged write.
func TestHistoryWithBothNodesWritten(t *testing.T) {
	s := newScene(t, Config{NoDeletes: true, Retried: true, Spread: true})
	s.healthy("nothing fails")
	for range rounds(t, 0) {
		for node := range s.nodes {
			s.run.SetDiverged(true)
			plan := reads(10, fault.Delay, fault.ErrorBefore, fault.ErrorAfter, fault.Unavailable, fault.ResetBefore, fault.ResetAfter)
			plan.Only = []string{"read", "write"}
			s.proxies[node].Faults.Set(plan)
			s.stage(fmt.Sprintf("node %d fails", node))
			s.proxies[node].Faults.Clear()

			s.run.Away(node == 1)
			s.run.Losing(s.nodes[node].Kill)
			s.stage(fmt.Sprintf("node %d is dead", node))
			s.nodes[node].Restart(t)
			s.replicated()
			s.stage("it is back")
			s.run.Away(false)
			s.run.SetDiverged(false)
		}
		s.healthy("nothing fails any more")
	}
	s.end()
	s.equal()
}

// replicated waits until each node has the documents that the other had at the time of the call.
func (s *scene) replicated() {
	s.Helper()
	for from, n := range s.nodes {
		s.probes++
		path := fmt.Sprint("/history/probe-", s.probes)
		s.nodes[1-from].AwaitRev(s, path, n.Must(s, "PUT", path, "{}").Rev(s))
	}
}

// equal compares the nodes with each other, with the acknowledged writes, and with Kasoku's
// answers, after the run.
func (s *scene) equal() {
	s.Helper()
	a, b := s.nodes[0], s.nodes[1]
	couch.Await(s, "both nodes to be equal", func() bool { return maps.Equal(s.leaves(a), s.leaves(b)) })
	for id, revs := range s.run.acked {
		there := s.history(a, id)
		for _, rev := range revs {
			if !there[rev] {
				s.Errorf("revision %s of %s was acknowledged and is lost", rev, id)
			}
		}
	}
	through := &couch.Node{URL: s.run.cfg.Through}
	for _, r := range results {
		shown := func(n *couch.Node) rows {
			seen, err := r.rows([]byte(n.Must(s, r.method, "/history/"+r.path, r.body).Body))
			if err != nil {
				s.Fatalf("%s: %v", r.name, err)
			}
			return seen
		}
		couch.Await(s, r.name+" as the nodes have it", func() bool { return maps.Equal(shown(through), shown(a)) })
	}
	forks := 0
	for _, revs := range s.leaves(a) {
		forks += strings.Count(revs, " ")
	}
	s.Logf("%d revisions were acknowledged; in the end there are %d conflicts", revisions(s.run.acked), forks)
}

func revisions(acked map[string][]string) (n int) {
	for _, revs := range acked {
		n += len(revs)
	}
	return n
}

// history returns the revisions that a document has had on a node.
func (s *scene) history(n *couch.Node, id string) map[string]bool {
	s.Helper()
	var leaves []struct {
		OK struct {
			Revisions struct {
				Start int
				IDs   []string
			} `json:"_revisions"`
		}
	}
	if err := json.Unmarshal([]byte(n.Must(s, "GET", "/history/"+id+"?open_revs=all&revs=true", "").Body), &leaves); err != nil {
		s.Fatal(err)
	}
	there := map[string]bool{}
	for _, leaf := range leaves {
		for back, hash := range leaf.OK.Revisions.IDs {
			there[fmt.Sprintf("%d-%s", leaf.OK.Revisions.Start-back, hash)] = true
		}
	}
	return there
}

// leaves returns the leaf revisions of a node's documents.
func (s *scene) leaves(n *couch.Node) map[string]string {
	s.Helper()
	var feed struct {
		Results []struct {
			ID      string
			Changes []struct{ Rev string }
		}
	}
	if err := json.Unmarshal([]byte(n.Must(s, "GET", "/history/_changes?style=all_docs", "").Body), &feed); err != nil {
		s.Fatal(err)
	}
	leaves := map[string]string{}
	for _, row := range feed.Results {
		var revs []string
		for _, c := range row.Changes {
			revs = append(revs, c.Rev)
		}
		slices.Sort(revs)
		leaves[row.ID] = strings.Join(revs, " ")
	}
	return leaves
}
