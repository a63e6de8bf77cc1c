package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// fill stores documents on nodes, each in one revision.
func fill(from, to int, nodes ...*node) {
	for i := from; i < to; i++ {
		for _, n := range nodes {
			n.put(fmt.Sprint("doc", i), "1-a")
		}
	}
}

// TestCompareAtStart checks the state of nodes that differ when they are first followed.
func TestCompareAtStart(t *testing.T) {
	f := func(what string, before func(a, b *node), script func(s *scene)) {
		t.Helper()
		t.Run(what, func(t *testing.T) {
			playAfter(t, 2, Config{}, func(nodes []*node) { before(nodes[0], nodes[1]) }, script)
		})
	}
	f("equal", func(a, b *node) { fill(0, 2000, a, b) }, func(s *scene) {
		s.expectCurrent("", 0b11)
	})
	f("one document", func(a, b *node) {
		fill(0, 2000, a, b)
		a.put("doc7", "2-a")
	}, func(s *scene) {
		s.expectCurrent("", 0b01)
		s.expectCurrent("doc7", 0b01)
		s.expectCurrent("doc8", 0b11)
		s.nodes[1].put("doc7", "2-a")
		s.pass(time.Second)
		s.expectCurrent("", 0b11)
	})
	f("each has a document of its own", func(a, b *node) {
		fill(0, 50, a)
		fill(50, 60, b)
	}, func(s *scene) {
		s.expectCurrent("", 0)
		s.expectCurrent("doc7", 0b01)
		s.expectCurrent("doc57", 0b10)
		s.expectCurrent("other", 0b11)
	})
	f("many", func(a, b *node) {
		fill(0, 6000, a, b)
		fill(6000, 7000, a)
	}, func(s *scene) {
		s.expectCurrent("doc6000", 0b01)
		s.expectCurrent("doc5999", 0b11)
	})
	f("too many", func(a, b *node) {
		fill(0, 8000, a)
		fill(20000, 28000, a)
	}, func(s *scene) {
		s.expectCurrent("other", 0b01)
		s.nodes[1].requests()
		s.pass(time.Minute)
		s.expectCurrent("other", 0b01)
		if got := len(s.nodes[1].requests()); got > 40 {
			t.Errorf("the node received %d requests in a minute", got)
		}
		fill(0, 8000, s.nodes[1])
		fill(20000, 28000, s.nodes[1])
		s.pass(time.Minute)
		s.expectCurrent("", 0b11)
	})
	f("empty", func(a, b *node) {}, func(s *scene) { s.expectCurrent("", 0b11) })
}

// TestCompareFromLastPosition checks that a node that rejoins is compared from its last position,
// also if newer changes of its own hide that, and by the newest changes if the position is
// rejected.
func TestCompareFromLastPosition(t *testing.T) {
	f := func(refuses bool, want string) {
		t.Helper()
		play(t, 2, func(s *scene) {
			a, b := s.nodes[0], s.nodes[1]
			fill(0, 10, a, b)
			s.pass(5 * time.Second)
			b.kill()
			s.pass(2 * time.Second)
			s.table.SetUp(1, false)
			fill(10, 20, a) // while b is unreachable
			s.pass(time.Second)
			b.restart()
			fill(1000, 3000, b, a) // b's own, which a received before b is compared
			a.set(func() { a.refusesPositions = refuses })
			a.requests()
			s.pass(6 * time.Second)
			if got := strings.Join(a.requests(), ", "); !strings.Contains(got, want) {
				t.Errorf("the node received %s; want %s", got, want)
			}
			if !refuses {
				s.expectCurrent("doc15", 0b01)
				s.expectCurrent("", 0b01)
				fill(10, 20, b)
				s.pass(time.Second)
			}
			s.expectCurrent("", 0b11)
		})
	}
	f(false, "/db/_changes?since=10-x&limit=10000")
	f(true, "/db/_changes?descending=true&limit=500")
}

// TestCompareIsRetried checks that a failed comparison is repeated later.
func TestCompareIsRetried(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[1].failsOtherRequests = true }, func(s *scene) {
		s.pass(10 * time.Second)
		s.expectCurrent("x", 0)
		const note = "database db: the nodes can't be compared, so nothing is cached: GET /_changes?descending=true&limit=500 was answered with 500"
		if got := strings.Join(s.table.Notes(), "; "); got != note {
			t.Errorf("got %s; want %s", got, note)
		}
		s.nodes[1].set(func() { s.nodes[1].failsOtherRequests = false })
		s.pass(2 * time.Second)
		s.expectCurrent("x", 0b11)
		if got := s.table.Notes(); len(got) != 0 {
			t.Errorf("got the note %q without a problem", got)
		}
	})
}

// TestCompareOfSlowNode checks that a node that is too slow to be compared gets no further requests
// while it still processes the previous ones.
func TestCompareOfSlowNode(t *testing.T) {
	playAfter(t, 2, Config{}, func(nodes []*node) { nodes[1].ignoresOtherRequests = true }, func(s *scene) {
		s.pass(5 * time.Minute)
		if n := len(s.nodes[1].requests()); n > 10 {
			t.Errorf("the node received %d requests in five minutes", n)
		}
		s.nodes[1].set(func() { s.nodes[1].ignoresOtherRequests = false })
		s.pass(time.Minute)
		s.expectCurrent("x", 0b11)
	})
}

// TestThreeNodes checks that synced nodes are compared, too.
func TestThreeNodes(t *testing.T) {
	play(t, 3, func(s *scene) {
		s.expectCurrent("", 0b111)
		c := s.nodes[2]
		c.kill()
		s.pass(2 * time.Second)
		s.table.SetUp(2, false)
		c.restart()
		c.put("x", "1-a") // written directly, before it is followed again
		s.pass(6 * time.Second)
		s.expectCurrent("x", 0b100)
		s.nodes[0].put("x", "1-a")
		s.pass(time.Second)
		s.expectCurrent("x", 0b101)
		s.expectCurrent("", 0b101)
	})
}
