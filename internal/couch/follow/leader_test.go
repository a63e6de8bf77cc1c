package follow

import (
	"testing"
	"testing/synctest"
	"time"
)

// awaitCurrent calls AwaitCurrent, and returns a channel with its result.
func (s *scene) awaitCurrent(writer int) chan NodeSet {
	nodes := make(chan NodeSet, 1)
	go func() { nodes <- s.db.AwaitCurrent(s.Context(), writer) }()
	synctest.Wait()
	return nodes
}

// TestAwaitCurrent checks that a node that takes the writes but does not receive those to others
// gets no requests for results while another node is about to have everything.
func TestAwaitCurrent(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[1].put("x", "1-a")
		s.pass(900 * time.Millisecond)
		s.write(0, "y", "1-a")
		s.expectCurrent("", 0)
		if nodes := <-s.awaitCurrent(0); nodes != 0 {
			t.Errorf("got the nodes %02b: it waited although the writer lags little", nodes)
		}
		s.pass(200 * time.Millisecond)
		waiting := s.awaitCurrent(0)
		s.write(0, "z", "1-a")
		s.pass(500 * time.Millisecond)
		if len(waiting) != 0 {
			t.Error("AwaitCurrent did not wait")
		}
		s.nodes[1].put("y", "1-a")
		s.pass(pollInterval)
		if nodes := <-waiting; nodes != 0b10 {
			t.Errorf("got the nodes %02b", nodes)
		}

		waiting, began := s.awaitCurrent(0), time.Now()
		if nodes, took := <-waiting, time.Since(began); nodes != 0 || took != time.Second {
			t.Errorf("got the nodes %02b after %v", nodes, took)
		}
		if nodes := <-s.awaitCurrent(0); nodes != 0 || time.Since(began) != time.Second {
			t.Errorf("got the nodes %02b: it waited although every node lags", nodes)
		}
	})
}
