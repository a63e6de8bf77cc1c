package follow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/couch/api"
)

// TestSecondWithoutDatabase checks that a node that lacks the database is ignored until it has it.
func TestSecondWithoutDatabase(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[1].remove() }, func(s *scene) {
		s.expectCurrent("", 0b01)
		r := s.read(0, "x")
		r.expectServed(true)
		s.nodes[0].put("y", "1-a")
		s.nodes[1].create()
		s.pass(6 * time.Second)
		s.expectCurrent("y", 0b01)
		s.expectCurrent("x", 0b11)
		s.nodes[1].put("y", "1-a")
		synctest.Wait()
		s.expectCurrent("", 0b11)
		s.read(1, "x").expectServed(true)
	})
}

// TestFirstWithoutDatabase checks that the first node that is up decides whether the database
// exists.
func TestFirstWithoutDatabase(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[0].remove() }, func(s *scene) {
		r := s.read(1, "x")
		s.expectCurrent("x", 0)
		r.expectServed(false)
		s.nodes[0].kill()
		s.pass(2 * time.Second)
		s.table.SetUp(0, false)
		s.expectCurrent("x", 0b10)
		r = s.read(1, "x")
		r.expectServed(true)
		s.nodes[0].restart()
		s.table.SetUp(0, true)
		s.expectCurrent("x", 0)
		r.expectServed(false)
	})
}

// TestRecreation checks that no state outlives its database, on either node.
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
				r.expectServed(true)
				again(s.nodes[0])
				s.pass(100 * time.Millisecond)
				r.expectServed(false)
				if s.db.Incarnation() == born {
					t.Error("the incarnation has not changed")
				}
				s.pass(5 * time.Second)
				if got := s.db.Current([]byte("x")); uint64(got) != current {
					t.Errorf("got the current nodes %b; want %b", got, current)
				}

			})
		})
	}
	f("deleted", (*node).remove, 0)
	// The first node has recreated it and lacks the other's documents.
	f("recreated", (*node).create, 0b10)
	f("deleted and recreated", func(n *node) { n.remove(); n.create() }, 0b10)
}

// TestDeletedThroughKasoku checks that no copy from before a deletion through Kasoku is served or
// cached, and that this ends when the database exists again.
func TestDeletedThroughKasoku(t *testing.T) {
	play(t, 2, func(s *scene) {
		for _, n := range s.nodes {
			n.put("x", "1-a")
			n.set(func() { n.silent = true }) // its feed is silent
		}
		s.pass(100 * time.Millisecond)
		r := s.read(1, "x")
		r.expectServed(true)
		s.nodes[0].set(func() { s.nodes[0].born, s.nodes[0].revs, s.nodes[0].rows = 0, nil, nil })
		s.db.RecheckExistence(0)
		s.expectCurrent("x", 0)
		r.expectServed(false)
		s.read(1, "x").expectServed(false)
		s.pass(time.Second)
		s.expectCurrent("x", 0)
		s.nodes[1].remove()
		s.db.RecheckExistence(1)
		for _, n := range s.nodes {
			n.set(func() { n.silent = false })
			n.create()
		}
		s.db.RecheckExistence(0)
		s.db.RecheckExistence(1)
		s.pass(time.Second)
		s.expectCurrent("x", 0b11)
		r.expectServed(false)
		s.read(1, "x").expectServed(true)
	})
}

// TestDeletionThatFailed checks that a deletion that did not happen has no lasting effect.
func TestDeletionThatFailed(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[0].set(func() { s.nodes[0].down = true }) // the follower can't find the database yet
		s.db.RecheckExistence(0)
		synctest.Wait()
		s.expectCurrent("x", 0)
		s.nodes[0].restart()
		s.pass(time.Second)
		s.expectCurrent("x", 0b11)
		s.read(0, "x").expectServed(true)
	})
}

// TestOldRun checks that reports of a follower's previous run about a deleted database are ignored.
func TestOldRun(t *testing.T) {
	play(t, 2, func(s *scene) {
		old := &nodeWatcher{s.db, 0, s.db.nodes[0].run}
		s.db.RecheckExistence(0)
		s.pass(time.Second)
		s.expectCurrent("", 0b11)
		r := s.read(0, "x")
		old.Row(&api.Change{ID: []byte("x"), Rev: []byte("1-a")})
		old.Reset(Deleted)
		old.Heard(time.Now().Add(time.Hour))
		s.expectCurrent("", 0b11)
		r.expectServed(true)
	})
}
