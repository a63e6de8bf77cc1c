package follow

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// TestDirectWrite checks that a copy is invalid as soon as a node has announced a change, and is
// read again from a node that has it.
func TestDirectWrite(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.expectCurrent("", 0b11)
		doc, view := s.read(1, "x"), s.read(1, "")
		other := s.read(0, "y")
		doc.expectServed(true)
		view.expectServed(true)
		s.nodes[0].put("x", "1-a")
		synctest.Wait()
		doc.expectServed(false)
		view.expectServed(false)
		other.expectServed(true)
		s.expectCurrent("x", 0b01)
		s.expectCurrent("", 0b01)
		s.expectCurrent("y", 0b11)
		s.pass(2 * time.Second)
		s.expectCurrent("x", 0b01)
		s.nodes[1].put("x", "1-a")
		synctest.Wait()
		s.expectCurrent("", 0b11)
	})
}

// TestUnfollowed checks that a silent node's copies are served for at most the bound, and again
// when it is heard.
func TestUnfollowed(t *testing.T) {
	f := func(bound time.Duration, silence func(n *node), speech func(n *node)) {
		t.Helper()
		playWith(t, 2, Config{MaxUnfollowed: bound}, func(s *scene) {
			s.pass(3 * time.Second) // an earlier end of a feed may be due to a new database
			r := s.read(0, "x")
			r.expectServed(true)
			silence(s.nodes[1])
			s.pass(bound - 2*beat)
			r.expectServed(true)
			s.pass(2*beat + time.Millisecond)
			r.expectServed(false)
			s.pass(5 * time.Second) // a mute feed counts as dead after 10s
			r.expectServed(false)
			speech(s.nodes[1])
			s.pass(6 * time.Second)
			r.expectServed(true)
		})
	}
	f(time.Second, func(n *node) { n.set(func() { n.silent = true }) }, func(n *node) { n.set(func() { n.silent = false }) })
	f(2*time.Second, (*node).kill, (*node).restart)
}

// TestNodeFailure checks a node that fails and returns: changes don't wait for it, and its answers
// are not cached until it has caught up.
func TestNodeFailure(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[0].kill()
		s.pass(2 * time.Second)
		r := s.read(1, "x")
		r.expectServed(false) // the node is not reported down yet
		s.table.SetUp(0, false)
		s.expectCurrent("", 0b10)
		r.expectServed(true)
		s.nodes[1].put("x", "1-a")
		synctest.Wait()
		r.expectServed(false)
		s.nodes[0].restart()
		s.pass(6 * time.Second)
		s.expectCurrent("x", 0b10)
		s.expectCurrent("y", 0b11)
		s.nodes[0].put("x", "1-a")
		synctest.Wait()
		s.expectCurrent("", 0b11)
	})
}

// TestReportedDownButHeard checks that the balancer's report alone excludes no node: other clients
// may still write to it.
func TestReportedDownButHeard(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.table.SetUp(0, false)
		s.pass(time.Minute)
		s.expectCurrent("", 0b11)
		r := s.read(1, "x")
		s.nodes[0].put("x", "1-a")
		synctest.Wait()
		r.expectServed(false)
	})
}

// TestQueriesForOverdueChange checks that a node is queried for changes that it does not announce.
func TestQueriesForOverdueChange(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[1].putSilently("x", "1-a", "1-b")
		s.nodes[0].requests()
		s.nodes[1].requests()
		s.nodes[0].put("x", "1-a")
		s.nodes[0].put("y", "1-a")
		synctest.Wait()
		s.expectCurrent("x", 0b01)
		s.pass(3 * time.Second)
		s.expectCurrent("x", 0b11)
		s.expectCurrent("y", 0b01)
		if a, b := s.nodes[0].requests(), s.nodes[1].requests(); len(a) != 0 || len(b) < 2 || len(b) > 3 {
			t.Errorf("the nodes received %q and %q", a, b)
		}
	})
}

func TestMaxLag(t *testing.T) {
	var behind []string
	playWith(t, 2, Config{Lagging: func(db string, node int) { behind = append(behind, fmt.Sprint(db, node)) }}, func(s *scene) {
		s.nodes[0].put("x", "1-a")
		s.pass(9 * time.Second)
		s.expectCurrent("y", 0b11)
		s.pass(3 * time.Second)
		s.expectCurrent("y", 0b01)
		s.pass(20 * time.Second)
		s.nodes[1].put("x", "1-a")
		s.pass(2 * time.Second)
		s.expectCurrent("y", 0b11)
		s.pass(time.Minute)
		if fmt.Sprint(behind) != "[db1 db1]" {
			t.Errorf("got reports of lag for %v", behind)
		}
	})
}

// TestRelease checks when databases are released, and that no copy of one is then valid.
func TestRelease(t *testing.T) {
	playWith(t, 1, Config{Idle: time.Minute, MaxDatabases: 1}, func(s *scene) {
		first, born := s.db, s.db.Incarnation()
		for range 10 {
			s.pass(55 * time.Second)
			if s.table.Find(name) != first {
				t.Fatal("released while in use")
			}
		}
		r := s.read(0, "x")
		r.expectServed(true)
		if s.table.Use([]byte("other")) != nil || s.table.Use([]byte("_users")) != nil || s.table.Use(nil) != nil {
			t.Error("a database over the limit was taken into use")
		}
		s.pass(63 * time.Second)
		if s.table.Find(name) != nil {
			t.Fatal("the database was not released")
		}
		r.expectServed(false)
		if s.table.Use([]byte("other")) == nil {
			t.Error("another database was taken into use")
		}
		s.expectCurrent("", 0)
		first.Wrote(0, []byte("x"), []byte("1-a"), s.cache.Now())
		s.pass(2 * time.Minute)
		s.use()
		if s.db == first || s.db.Incarnation() == born {
			t.Error("it is still the same database")
		}
		if r.db = s.db; r.served() {
			t.Error("a copy from before is served again")
		}
		s.read(0, "x").expectServed(true)
	})
}

// TestWriteOutlivesDatabase checks that a write that outlives its database is applied to the next
// one of that name.
func TestWriteOutlivesDatabase(t *testing.T) {
	playWith(t, 2, Config{Idle: time.Minute}, func(s *scene) {
		old := s.db
		s.pass(63 * time.Second)
		s.use()
		s.expectCurrent("x", 0b11)
		old.Wrote(0, []byte("x"), []byte("1-a"), s.cache.Now())
		s.expectCurrent("x", 0b01)
	})
}

// TestMissingDatabase checks that a name without a database is released.
func TestMissingDatabase(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[0].remove()
		s.nodes[1].remove()
		for range 20 {
			s.pass(time.Second)
			s.table.Find(name)
		}
		if s.table.Find(name) != nil {
			t.Error("still in use")
		}
	})
}

func TestClose(t *testing.T) {
	play(t, 2, func(s *scene) {
		r := s.read(0, "x")
		s.table.Close()
		r.expectServed(false)
		if s.table.Find(name) != nil || s.table.Use(name) != nil {
			t.Error("in use after Close")
		}
		s.expectCurrent("", 0)
		s.table.SetUp(0, false)
	})
}

func TestFindAllocates(t *testing.T) {
	if race.Enabled {
		t.Log("allocations are counted without the race detector")
		return
	}
	play(t, 2, func(s *scene) {
		for i := range 100 {
			s.table.Use(fmt.Appendf(nil, "db%d", i))
		}
		s.pass(time.Second)
		var servable bool
		if n := testing.AllocsPerRun(1000, func() {
			d := s.table.Find(name)
			servable = d.Servable(s.cache.Now()) && d.Incarnation() != 0
		}); n != 0 || !servable {
			t.Errorf("got %v allocations, servable %t", n, servable)
		}
	})
}

// TestOwnWrite checks that a write through Kasoku is recorded before its row arrives, and
// that the row is not a new change.
func TestOwnWrite(t *testing.T) {
	play(t, 2, func(s *scene) {
		s.nodes[0].set(func() { s.nodes[0].silent = true })
		before := s.read(1, "x")
		s.write(0, "x", "1-a")
		before.expectServed(false)
		s.expectCurrent("x", 0b01)
		s.expectCurrent("", 0b01)
		after := s.read(0, "x")
		s.nodes[0].set(func() { s.nodes[0].silent = false })
		s.pass(time.Second)
		after.expectServed(true)
	})
}

// TestPinned checks that a pinned database is never released, even where it does not exist,
// and that a node's return is reported.
func TestPinned(t *testing.T) {
	var returned []int
	playWith(t, 2, Config{Pinned: []string{"db"}, Idle: time.Minute, Returned: func(node int) { returned = append(returned, node) }}, func(s *scene) {
		first := s.db
		s.pass(time.Hour)
		s.nodes[0].remove()
		s.nodes[1].remove()
		s.pass(time.Minute)
		if s.table.Find(name) != first {
			t.Error("a pinned database was released")
		}
		s.nodes[0].create()
		s.nodes[1].create()
		s.pass(10 * time.Second)
		returned = nil
		s.nodes[1].kill()
		s.pass(10 * time.Second)
		if len(returned) != 0 {
			t.Errorf("got reports of the return of %v", returned)
		}
		s.nodes[1].restart()
		s.pass(10 * time.Second)
		if fmt.Sprint(returned) != "[1]" {
			t.Errorf("got reports of the return of %v", returned)
		}
	})
}

// TestNotes checks the notes for administrators.
func TestNotes(t *testing.T) {
	f := func(want string, spoil func(s *scene)) {
		t.Helper()
		play(t, 2, func(s *scene) {
			if got := s.table.Notes(); len(got) != 0 {
				t.Errorf("got the note %q without a problem", got)
			}
			spoil(s)
			if got := strings.Join(s.table.Notes(), "; "); got != want {
				t.Errorf("got %s; want %s", got, want)
			}
		})
	}
	f("database db is not on b, which gets no reads of it", func(s *scene) {
		s.nodes[1].remove()
		s.pass(time.Second)
	})
	f("database db: b can't be reached: connection refused", func(s *scene) {
		s.nodes[1].kill()
		s.pass(2 * time.Second)
		s.table.SetUp(1, false)
	})
	f("database db: no sign of life from b for 2.1s, so nothing is served from memory: the node answered with 401", func(s *scene) {
		s.nodes[1].change(func() { s.nodes[1].unauthorized = true })
		s.pass(2 * time.Second)
	})
	f("database db: b lacks 2 changes, one for 12s", func(s *scene) {
		s.nodes[0].put("x", "1-a")
		s.nodes[0].put("y", "1-a")
		s.pass(12 * time.Second)
	})
}
