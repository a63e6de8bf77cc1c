package follow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// TestSlaveWithoutDatabase checks that a node which lacks the database is left out
// until it has it.
func TestSlaveWithoutDatabase(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[1].remove() }, func(s *scene) {
		s.current("", 0b01)
		r := s.read(0, "x")
		r.wants(true)
		s.nodes[0].put("y", "1-a")
		s.nodes[1].create()
		s.pass(6 * time.Second)
		s.current("y", 0b01)
		s.current("x", 0b11)
		s.nodes[1].put("y", "1-a")
		synctest.Wait()
		s.current("", 0b11)
		s.read(1, "x").wants(true)
	})
}

// TestFirstWithoutDatabase checks that the first node that is up decides whether the
// database exists.
func TestFirstWithoutDatabase(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[0].remove() }, func(s *scene) {
		r := s.read(1, "x")
		s.current("x", 0)
		r.wants(false)
		s.nodes[0].kill()
		s.pass(2 * time.Second)
		s.table.SetUp(0, false)
		s.current("x", 0b10)
		r = s.read(1, "x")
		r.wants(true)
		s.nodes[0].restart()
		s.table.SetUp(0, true)
		s.current("x", 0)
		r.wants(false)
	})
}

// TestRecreation checks that nothing outlives its database, on either node.
func TestRecreation(t *testing.T) {
	f := func(what string, again func(n *node), current uint64) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			play(t, 2, func(s *scene) {
				for _, n := range s.nodes {
					n.put("x", "1-a")
				}
				s.pass(time.Second)
				r, born := s.read(1, "x"), s.db.Incarnation()
				r.wants(true)
				again(s.nodes[0])
				s.pass(100 * time.Millisecond)
				r.wants(false)
				if s.db.Incarnation() == born {
					t.Error("the incarnation has not changed")
				}
				s.pass(5 * time.Second)
				if got := s.db.Current([]byte("x")); uint64(got) != current {
					t.Errorf("nodes %b are current; want %b", got, current)
				}

			})
		})
	}
	f("deleted", (*node).remove, 0)
	// The first node has recreated it and lacks the other's documents.
	f("recreated", (*node).create, 0b10)
	f("deleted and recreated", func(n *node) { n.remove(); n.create() }, 0b10)
}

// TestDeletedThroughKasoku checks that no copy from before a deletion through Kasoku is
// served or cached, and that this ends when the database exists again.
func TestDeletedThroughKasoku(t *testing.T) {
	play(t, 2, func(s *scene) {
		for _, n := range s.nodes {
			n.put("x", "1-a")
			n.set(func() { n.mute = true }) // its feed is silent
		}
		s.pass(100 * time.Millisecond)
		r := s.read(1, "x")
		r.wants(true)
		s.nodes[0].set(func() { s.nodes[0].born, s.nodes[0].revs, s.nodes[0].rows = 0, nil, nil })
		s.db.RecheckExistence(0)
		s.current("x", 0)
		r.wants(false)
		s.read(1, "x").wants(false)
		s.pass(time.Second)
		s.current("x", 0)
		s.nodes[1].remove()
		s.db.RecheckExistence(1)
		for _, n := range s.nodes {
			n.set(func() { n.mute = false })
			n.create()
		}
		s.db.RecheckExistence(0)
		s.db.RecheckExistence(1)
		s.pass(time.Second)
		s.current("x", 0b11)
		r.wants(false)
		s.read(1, "x").wants(true)
	})
}

// TestDoubtedInVain checks that a deletion that did not happen has no lasting effect.
func TestDoubtedInVain(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[0].set(func() { s.nodes[0].down = true }) // the follower can't find the database yet
		s.db.RecheckExistence(0)
		synctest.Wait()
		s.current("x", 0)
		s.nodes[0].restart()
		s.pass(time.Second)
		s.current("x", 0b11)
		s.read(0, "x").wants(true)
	})
}

// TestOldRun checks that reports of a follower's former run about a deleted database are
// dropped.
func TestOldRun(t *testing.T) {
	play(t, 2, func(s *scene) {
		old := &nodeWatcher{s.db, 0, s.db.nodes[0].run}
		s.db.RecheckExistence(0)
		s.pass(time.Second)
		s.current("", 0b11)
		r := s.read(0, "x")
		old.Row(&api.Change{ID: []byte("x"), Rev: []byte("1-a")})
		old.Reset(Deleted)
		old.Heard(time.Now().Add(time.Hour))
		s.current("", 0b11)
		r.wants(true)
	})
}
