package protocol

import (
	"slices"
)

// scriptLeaseCountsFromTheRead shows the node as a serving member in the answer to a read that
// took long, because the answer to its own write was lost.
func scriptLeaseCountsFromTheRead(t reporter) {
	s := newScript(t, true)
	s.Tick(s.now)
	s.expect("read")
	s.viewed(View{})
	s.expect("write self/101(joining)")
	s.Wrote(s.now, nil)
	s.expect("read", "write self/101")
	s.viewed(View{Rev: 1, Creator: 101, Epoch: 1, Members: []Member{{Instance: 101, Node: "self", Joining: true}}})
	s.wait(10 * Millisecond)
	s.Wrote(s.now, errTimeout)
	s.expect("read")
	s.wait(Second)
	s.viewed(s.view)
	s.expect("empty", "settle until 6010 ms", "read", "lease until 1510 ms")
}

// scriptNewItemTwice creates an item whose write has an unknown outcome, and creates it again
// because it is lost meanwhile. Both have the same revision: a node that has read the first one
// must not write over the second one.
func scriptNewItemTwice(t reporter) {
	s := newScript(t, true)
	s.Tick(s.now)
	s.viewed(View{})
	first := s.view
	s.Wrote(s.now, errTimeout)
	s.viewed(View{})
	s.wait(200 * Millisecond)
	s.Tick(s.now)
	if s.reading {
		s.viewed(View{})
	}
	s.expect("read", "write self/101(joining)", "read", "read", "write self/101(joining)")
	if s.view.Rev != first.Rev || s.view.Creator == first.Creator {
		t.Errorf("the items have the revisions %d and %d of creator %d", first.Rev, s.view.Rev, first.Creator)
	}
}

// scriptJoinersOfANewItemWait joins the item that another node has created a moment ago: an
// item before it may have been lost, and its members may still serve.
func scriptJoinersOfANewItemWait(t reporter) {
	creator := Member{Instance: 1, Node: "n1", Joining: true}
	s := newScript(t, false)
	s.Tick(s.now)
	s.viewed(View{Rev: 1, Creator: 1, Epoch: 1, Members: []Member{creator}})
	s.Receive(s.now, 1, &Message{Kind: Probed, Epoch: 1})
	s.expect("read", "write n1/1(joining) self/101(joining)")
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	s.skip()
	s.Receive(s.now, 1, &Message{Kind: Books, Epoch: s.view.Epoch, Books: &Book{}})
	s.expect()
	wait := s.cfg.Wait
	for s.now < wait-50*Millisecond {
		s.wait(50 * Millisecond)
		s.Receive(s.now, 1, &Message{Kind: Open, Epoch: s.view.Epoch})
		s.Tick(s.now)
		s.viewed(s.view)
		if s.Mode() != Joining || s.Serves(s.now) {
			t.Fatalf("%s after %d ms", s.Mode(), s.now/Millisecond)
		}
	}
	s.wait(50 * Millisecond)
	s.skip()
	s.Tick(s.now)
	if !slices.Contains(s.log, "write n1/1(joining) self/101") {
		t.Errorf("it does not serve after %d ms: %q", s.now/Millisecond, s.log)
	}
}

// scriptFreshOnce loses the item that the node has created together with its table: the next
// item that it creates is not the first one.
func scriptFreshOnce(t reporter) {
	s := newScript(t, true)
	s.join()
	s.wait(600 * Millisecond)
	s.Tick(s.now)
	s.viewed(View{})
	if s.Mode() != Out {
		t.Fatalf("%s without an item", s.Mode())
	}
	s.wait(600 * Millisecond)
	s.Tick(s.now)
	s.viewed(View{})
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	if s.Mode() != Joining {
		t.Errorf("%s at once, after an item was lost", s.Mode())
	}
	s.wait(s.cfg.Wait)
	s.Tick(s.now)
	s.skip()
	s.Wrote(s.now, nil)
	s.expect("empty", "settle until 7850 ms", "cold until 62850 ms")
}

// scriptFreshEnds starts in a new table, and is stopped for a time in which another node can
// join and serve, and its item can be lost: before it looks at the table, or before its own
// item is confirmed.
func scriptFreshEnds(t reporter) {
	for _, c := range []struct {
		read, wrote Time // delays
		cold        bool
	}{
		{0, 0, false},
		{0, newScript(t, true).cfg.Lease - 1, false},
		{0, newScript(t, true).cfg.Lease, true},
		{newScript(t, true).cfg.Lease, 0, true},
	} {
		s := newScript(t, true)
		s.wait(c.read)
		s.Tick(s.now)
		s.viewed(View{})
		s.wait(c.wrote)
		s.Wrote(s.now, nil)
		s.viewed(s.view)
		s.Wrote(s.now, nil)
		if waits := s.Mode() == Joining; waits != c.cold {
			t.Errorf("delays %d and %d: it waits before it serves: %t", c.read, c.wrote, waits)
		}
	}
}

// scriptCleanNeedsService leaves a view before its node has served: whatever made the joining
// node wait applies to the next one as well.
func scriptCleanNeedsService(t reporter) {
	for _, clean := range []bool{false, true} {
		s := newScript(t, false)
		s.Tick(s.now)
		s.viewed(View{Rev: 1, Creator: 1, Epoch: 1, Clean: clean})
		s.Wrote(s.now, nil)
		s.Leave(s.now)
		if s.writing {
			s.Wrote(s.now, ErrConflict)
			s.viewed(View{Rev: 2, Creator: 1, Epoch: 2, Members: []Member{{Instance: 101, Node: "self", Joining: true}}})
		}
		if len(s.view.Members) != 0 || s.view.Clean != clean {
			t.Errorf("it leaves a view with %d members, clean: %t; want none, %t", len(s.view.Members), s.view.Clean, clean)
		}
	}
}

// scriptRounds extends a write twice, and repeats the acknowledgements of earlier rounds.
func scriptRounds(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	epoch := s.view.Epoch
	ack := func(round uint64) {
		s.Receive(s.now, 1, &Message{Kind: Ack, Epoch: epoch, Seq: 1, Round: round})
	}
	s.Begin(s.now, []uint64{4}, nil)
	s.expect("inv 1 to 0: [4]")
	ack(0)
	s.expect("allowed 1")
	s.Extend(s.now, 1, []uint64{5})
	s.expect("inv 1 to 0: [5]")
	ack(0)
	s.expect()
	ack(1)
	s.expect("extended 1")
	s.Extend(s.now, 1, []uint64{6})
	s.expect("inv 1 to 0: [5 6]")
	ack(1)
	s.expect()
	ack(2)
	s.expect("extended 1")
	s.Commit(1)
	s.expect("val 1 to 0")
}

// scriptPurging takes over a purge from a book, and begins one.
func scriptPurging(t reporter) {
	s := newScript(t, false)
	s.Tick(s.now)
	s.viewed(View{Rev: 1, Creator: 1, Epoch: 1, Members: others(1, 2)})
	for i := range Instance(2) {
		s.Receive(s.now, 1+i, &Message{Kind: Probed, Epoch: 1, Serving: true})
	}
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	epoch := s.view.Epoch
	s.Receive(s.now, 1, &Message{Kind: Books, Epoch: epoch, Serving: true, Books: &Book{Writes: []HeldWrite{{2, 9, nil, true, nil}}}})
	s.Receive(s.now, 2, &Message{Kind: Inv, Epoch: epoch, Seq: 9, Payload: []byte("purge")})
	s.Receive(s.now, 2, &Message{Kind: Books, Epoch: epoch, Serving: true, Books: &Book{}})
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	if !s.Serves(s.now) || !s.Purging() {
		t.Errorf("serves: %t, purging: %t; want both", s.Serves(s.now), s.Purging())
	}
	s.Receive(s.now, 2, &Message{Kind: Val, Epoch: epoch, Seq: 9})
	if s.Purging() {
		t.Errorf("a member's purge is over; this node is purging")
	}
	s.Begin(s.now, nil, []byte("purge"))
	if !s.Purging() {
		t.Errorf("this node's purge is in flight; it is not purging")
	}
	s.Commit(1)
	if s.Purging() {
		t.Errorf("this node's purge is over; it is purging")
	}
}

// scriptBooksOfANodeThatLeaves asks a joining node for its books that is leaving again: it never
// had a lease, so its books end no joiner's wait.
func scriptBooksOfANodeThatLeaves(t reporter) {
	s := newScript(t, false)
	s.Tick(s.now)
	s.viewed(View{})
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	v := s.view.clone()
	v.Rev, v.Epoch = v.Rev+1, v.Epoch+1
	v.Members = append(v.Members, Member{Instance: 1, Node: "n1", Joining: true})
	s.Leave(s.now)
	s.Receive(s.now, 1, &Message{Kind: Join, Epoch: v.Epoch, View: &v})
	if !slices.Contains(s.log, "books to 1, serving: false: {[] [] 0}") {
		t.Errorf("got %q", s.log)
	}
}

// scriptSuspend has a member that acknowledges late: it is suspended, and cleared again.
func scriptSuspend(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.pass(240*Millisecond, 1, 2)
	s.expectOnly("write allowed")
	s.pass(40*Millisecond, 1, 2)
	s.expectOnly("write allowed", "write n1/1 n2/2 self/101 101 suspends 2")
	s.pass(Second, 1, 2)
	s.expectOnly("write allowed")
	s.from(2, Ack, 1)
	s.pass(40*Millisecond, 1, 2)
	s.expectOnly("write allowed", "allowed 1", "write n1/1 n2/2 self/101")
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 2)
	s.pass(s.cfg.Wait, 1, 2)
	s.expectOnly("write allowed", "write n1/1 n2/2 self/101 101 suspends 2")
}

// scriptEvict has a member that is silent, with a write that is open.
func scriptEvict(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Receive(s.now, 2, &Message{Kind: Inv, Epoch: s.item.Epoch, Seq: 7, Tags: []uint64{4}, Unsure: []uint64{6}})
	s.Begin(s.now, []uint64{5}, nil)
	s.from(1, Ack, 1)
	s.pass(280*Millisecond, 1)
	s.expectOnly("write", "write n1/1 n2/2 self/101 101 suspends 2")
	s.pass(s.cfg.Wait-40*Millisecond, 1)
	s.expectOnly("write allowed release")
	s.pass(60*Millisecond, 1)
	s.expectOnly("write allowed release quarantine", "write n1/1 self/101", "release 7 of 2 in 60000 ms", "quarantine [6] for 60000 ms", "allowed 1")
	s.Receive(s.now, 1, &Message{Kind: Join, Epoch: s.item.Epoch})
	s.expectOnly("books", "books to 1, serving: true: "+bookText(Book{
		Writes: []HeldWrite{{101, 1, []uint64{5}, false, nil}}, Quarantines: []Quarantine{{[]uint64{4, 6}, s.quar[0].until - s.now}},
	}))
	s.from(2, Ack, 1)
	s.from(2, Val, 7)
	s.expect()
}

// scriptEvictJoining has a joining member that is silent: it has never served.
func scriptEvictJoining(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.change(func(v *View) {
		v.Epoch++
		v.Members = append(v.Members, Member{Instance: 2, Node: "n2", Joining: true})
	})
	s.pass(Second-20*Millisecond, 1)
	s.expectOnly("write")
	s.pass(100*Millisecond, 1)
	s.expectOnly("write", "write n1/1 self/101")
}

// scriptOperator evicts a member that is well.
func scriptOperator(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	if _, err := s.Evict(s.now, "n3"); err == nil {
		t.Errorf("evicts a node that is no member")
	}
	if _, err := s.Evict(s.now, "self"); err == nil {
		t.Errorf("evicts itself")
	}
	if _, err := s.Evict(s.now, "n2"); err != nil {
		t.Errorf("evict: %v", err)
	}
	s.pass(s.cfg.Wait+30*Millisecond, 1, 2)
	s.expectOnly("write", "write n1/1 n2/2 self/101 101 suspends 2", "write n1/1 self/101")
}

// scriptOperatorTwice evicts a node that has started again while its former process is a
// member still. It is repeated, so that no order of chance passes.
func scriptOperatorTwice(t reporter) {
	for range 16 {
		s := newScript(t, true)
		s.join(others(1, 2)...)
		s.change(func(v *View) {
			v.Epoch++
			v.Members = append(v.Members, Member{Instance: 3, Node: "n2", Joining: true})
		})
		if i, err := s.Evict(s.now, "n2"); i != 2 || err != nil {
			t.Fatalf("evicts %d, error %v", i, err)
		}
	}
}

// scriptSuspended is suspended by another member, and cleared: reads of the view prove nothing
// meanwhile.
func scriptSuspended(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.change(func(v *View) { v.Suspended = []Suspension{{1, 101}} })
	end := s.LeaseEnd()
	s.pass(s.cfg.Lease+50*Millisecond, 1)
	s.expectOnly("lease")
	if s.LeaseEnd() != end || s.Serves(s.now) {
		t.Errorf("serves a lease after it was suspended")
	}
	s.change(func(v *View) { v.Suspended = nil })
	s.pass(s.cfg.Renew, 1)
	if !s.Serves(s.now) {
		t.Errorf("does not serve although it is not suspended any more")
	}

	// A member's message shows that the suspension is over: the view is read at once.
	s.change(func(v *View) { v.Suspended = []Suspension{{1, 101}} })
	s.pass(s.cfg.Lease+50*Millisecond, 1)
	s.change(func(v *View) { v.Suspended = nil })
	v := s.item
	s.Receive(s.now, 1, &Message{Kind: Newer, Epoch: v.Epoch, View: &v})
	s.pass(30*Millisecond, 1)
	if !s.Serves(s.now) {
		t.Errorf("does not serve at once although a message shows that it is not suspended any more")
	}
}

// scriptExpelled is taken out: its writes fail, its fences end, and it joins again under
// another number.
func scriptExpelled(t reporter) {
	s := newScript(t, true)
	s.join(others(1, 2)...)
	s.Receive(s.now, 2, &Message{Kind: Inv, Epoch: s.item.Epoch, Seq: 7, Tags: []uint64{4}})
	s.Begin(s.now, []uint64{5}, nil)
	s.Begin(s.now, []uint64{6}, nil)
	s.from(1, Ack, 2)
	s.from(2, Ack, 2)
	s.Extend(s.now, 2, []uint64{8})
	s.skip()
	gone := s.item.clone()
	gone.Rev++
	gone.Epoch++
	gone.remove(101, 0, "it was silent")
	s.Receive(s.now, 1, &Message{Kind: Newer, Epoch: gone.Epoch, View: &gone})
	s.expectOnly("lease failed release empty",
		"lease until 0 ms", "failed 1: "+ErrIsolated.Error(), "failed 2: "+ErrLost.Error(), "release 7 of 2", "empty")
	s.Extend(s.now, 2, []uint64{8})
	s.Begin(s.now, []uint64{5}, nil)
	s.expect("failed 2: "+ErrLost.Error(), "failed 3: "+ErrIsolated.Error())
	s.wait(s.cfg.Beat)
	s.Tick(s.now)
	if s.Mode() != Probing || s.Self() != 102 {
		t.Errorf("%s as %d; want probing as 102", s.Mode(), s.Self())
	}
}

// scriptJoin takes over the books of two members.
func scriptJoin(t reporter) {
	s := newScript(t, false)
	s.Tick(s.now)
	s.viewed(View{Rev: 1, Creator: 1, Epoch: 1, Members: others(1, 2)})
	s.Tick(s.now)
	s.expect("read", "probe 0 to 1", "probe 0 to 2")
	s.Receive(s.now, 1, &Message{Kind: Probed, Epoch: 1, Serving: true})
	s.expect()
	s.Receive(s.now, 2, &Message{Kind: Probed, Epoch: 1, Serving: true})
	s.expect("write n1/1 n2/2 self/101(joining)")
	s.Wrote(s.now, nil)
	s.Tick(s.now)
	s.expectOnly("join", "join 0 to 1", "join 0 to 2")
	s.viewed(s.view)
	s.skip()
	books := func(from Instance, epoch uint64, b Book) {
		s.Receive(s.now, from, &Message{Kind: Books, Epoch: epoch, Serving: true, Books: &b})
	}
	epoch := s.view.Epoch
	books(1, epoch-1, Book{Cold: Second})
	s.expect()
	books(1, epoch, Book{
		Cold:        Second,
		Writes:      []HeldWrite{{1, 7, []uint64{4}, false, nil}, {3, 8, []uint64{5}, false, nil}, {101, 9, []uint64{6}, false, nil}},
		Quarantines: []Quarantine{{[]uint64{6}, Second}},
	})
	s.expect("cold until 1000 ms", "quarantine [6] for 1000 ms", "fence 7 of 1: [4]", "quarantine [5] for 60000 ms")
	books(1, epoch, Book{Cold: 2 * Second})
	s.expect()
	books(2, epoch, Book{})
	s.expect("write n1/1 n2/2 self/101")
	s.Wrote(s.now, nil)
	s.expect("newer 0 to 0", "empty", "settle until 5000 ms", "read")
	s.viewed(s.view)
	s.expect("lease until 1500 ms", "read")
}

// scriptObstacles are reasons why a node can't join.
func scriptObstacles(t reporter) {
	member := Member{Instance: 1, Node: "n1", Address: "h:1", Services: map[string]string{"db": "x"}}
	twin := member
	twin.Node = "self"
	other := member
	other.Services = map[string]string{"db": "y", "more": "z"}
	full := View{Rev: 1, Creator: 1, Epoch: 1}
	for i := range Instance(maxMembers) {
		full.Members = append(full.Members, others(i+1)...)
	}
	view := func(members ...Member) View { return View{Rev: 1, Creator: 1, Epoch: 1, Members: members} }
	tests := []struct {
		name    string
		view    View
		reached []Instance
		want    string
	}{
		{"none", view(member), []Instance{1}, ""},
		{"same name", view(twin), []Instance{1}, "another process is node self of the cluster, at h:1"},
		{"services", view(other), []Instance{1}, "service db has another type or origin on node n1"},
		{"unreachable", view(others(1, 2)...), []Instance{1}, "member n2 can't be reached"},
		{"full", full, nil, "the cluster is full"},
	}
	for _, test := range tests {
		s := newScript(t, false)
		s.self.Services = map[string]string{"db": "x"}
		s.Tick(s.now)
		s.viewed(test.view)
		for _, i := range test.reached {
			s.Receive(s.now, i, &Message{Kind: Probed, Epoch: 1})
		}
		s.wait(s.cfg.Silent)
		s.Tick(s.now)
		if s.reading {
			s.viewed(test.view)
		}
		if got := s.Obstacle(); got != test.want || s.writing != (test.want == "") {
			t.Errorf("%s: obstacle %q, joins: %t; want %q", test.name, got, s.writing, test.want)
		}
	}
}

// scriptFormerLife joins a view with a former life of the node, and one with dead members only.
func scriptFormerLife(t reporter) {
	for _, test := range []struct {
		nodes []string
		after Time
	}{{[]string{"self"}, 250 * Millisecond}, {[]string{"n1", "n2"}, Second}} {
		s := newScript(t, false)
		v := View{Rev: 1, Creator: 1, Epoch: 1}
		for i, name := range test.nodes {
			v.Members = append(v.Members, Member{Instance: Instance(i + 1), Node: name})
		}
		s.Tick(s.now)
		s.viewed(v)
		for s.now < test.after && !s.writing {
			s.wait(10 * Millisecond)
			s.Tick(s.now)
			if s.reading {
				s.viewed(v)
			}
		}
		if !s.writing || s.now != test.after {
			t.Errorf("with %s: joins: %t after %d ms; want it after %d ms", test.nodes, s.writing, s.now/Millisecond, test.after/Millisecond)
		}
	}
}

// scriptLeave leaves when the writes are over.
func scriptLeave(t reporter) {
	s := newScript(t, true)
	s.join(others(1)...)
	s.Begin(s.now, []uint64{4}, nil)
	s.from(1, Ack, 1)
	s.skip()
	s.Leave(s.now)
	s.Begin(s.now, []uint64{5}, nil)
	s.expect("failed 2: " + ErrIsolated.Error())
	s.Commit(1)
	s.Tick(s.now)
	s.expectOnly("lease write val", "val 1 to 0", "lease until 0 ms", "write n1/1")
	s.Wrote(s.now, nil)
	if s.Mode() != Left || s.view.Clean {
		t.Errorf("%s, clean: %t; want left, with a member", s.Mode(), s.view.Clean)
	}
}

// scriptLostView loses the item, and reads one from before.
func scriptLostView(t reporter) {
	for name, found := range map[string]func(v View) View{
		"deleted":  func(View) View { return View{} },
		"replaced": func(v View) View { v.Creator, v.Rev = 9, v.Rev+5; return v },
		"restored": func(v View) View { v.Rev--; return v },
		"written":  func(v View) View { v.remove(101, 0, "it was silent"); return v }, // after it was restored
	} {
		s := newScript(t, true)
		s.join(others(1)...)
		s.wait(Second)
		s.Tick(s.now)
		s.viewed(found(s.item.clone()))
		if s.Mode() != Out || s.Serves(s.now) || !slices.Contains(s.log, "empty") {
			t.Errorf("%s: %s, serves: %t, %q", name, s.Mode(), s.Serves(s.now), s.log)
		}
	}
	// A read that was sent before the view was received by a message is not newer.
	s := newScript(t, true)
	s.join(others(1)...)
	s.wait(Second)
	s.Tick(s.now)
	before := s.item
	s.wait(Millisecond)
	s.change(func(*View) {})
	s.viewed(before)
	if s.Mode() != In {
		t.Errorf("%s after the answer to a read that was overtaken", s.Mode())
	}
}

// scriptCleanQuiet leaves as the last member, with a write of unknown outcome and without.
func scriptCleanQuiet(t reporter) {
	for _, quiet := range []bool{true, false} {
		s := newScript(t, true)
		s.join()
		s.Begin(s.now, []uint64{4}, nil)
		if quiet {
			s.Commit(1)
		} else {
			s.Unknown(s.now, 1, nil)
		}
		s.Leave(s.now)
		if !s.writing || len(s.view.Members) != 0 || s.view.Clean != quiet {
			t.Errorf("quiet: %t; it leaves a view with %d members, clean: %t", quiet, len(s.view.Members), s.view.Clean)
		}
	}
}

// quiet returns a world without faults and clients.
func quiet(nodes int) *world {
	w := newWorld(1, chaos{nodes: nodes, drift: 0.01, timeout: 40 * Millisecond, reach: 100 * Millisecond}, nil)
	w.run(300 * Millisecond)
	return w
}

func (w *world) serving() (n int) {
	for _, o := range w.nodes {
		if o.alive && o.local() < o.lease {
			n++
		}
	}
	return n
}

// scriptSuspendEachOther cuts the network between two nodes: one of them continues to serve.
func scriptSuspendEachOther(t reporter) {
	w := quiet(2)
	if n := w.serving(); n != 2 {
		t.Fatalf("%d nodes serve; want 2", n)
	}
	w.disconnect(Second*100, [][2]int{{0, 1}, {1, 0}})
	w.run(w.now + w.cfg.Silent + w.cfg.Wait + 100*Millisecond)
	if n := w.serving(); n != 1 {
		t.Errorf("%d nodes serve; want 1", n)
	}
	clear(w.cut)
	w.run(w.now + Second)
	if why := w.unsettled(); why != "" || w.serving() != 2 {
		t.Errorf("after the network is back %d nodes serve: %s", w.serving(), why)
	}
}

// scriptFormerMark cuts off a member that has suspended another one shortly before. The third
// one takes it out, and the suspended one remains.
func scriptFormerMark(t reporter) {
	w := quiet(3)
	w.disconnect(100*Second, [][2]int{{0, 1}, {1, 0}})
	for end := w.now + Second; len(w.view.Suspended) == 0 && w.now < end; {
		w.run(w.now + Millisecond)
	}
	if len(w.view.Suspended) != 1 {
		t.Fatalf("the view has the suspensions %v; want one", w.view.Suspended)
	}
	mark := w.view.Suspended[0]
	clear(w.cut)
	for _, n := range w.nodes {
		if n.instance == mark.By {
			for other := range 3 {
				w.cut[[2]int{n.place, other}], w.cut[[2]int{other, n.place}] = true, true
			}
		}
	}
	w.run(w.now + w.cfg.Silent + w.cfg.Wait + 100*Millisecond)
	if w.view.Find(mark.By) != nil || w.view.Find(mark.Of) == nil {
		t.Errorf("%d had suspended %d when it was cut off; the members are%s", mark.By, mark.Of, describe(&w.view))
	}
	if n := w.serving(); n != 2 {
		t.Errorf("%d nodes serve; want 2", n)
	}
	clear(w.cut)
	w.run(w.now + Second)
	if why := w.unsettled(); why != "" || w.serving() != 3 {
		t.Errorf("after the network is back %d nodes serve: %s", w.serving(), why)
	}
}

// scriptPowerCut starts one of three nodes after all have ended.
func scriptPowerCut(t reporter) {
	w := quiet(3)
	for _, n := range w.nodes {
		n.alive = false
	}
	w.run(w.now + Second)
	w.nodes[1].start()
	start, limit := w.now, w.cfg.Silent*3/2+w.cfg.Wait+50*Millisecond
	for w.serving() == 0 && w.now < start+2*limit {
		w.run(w.now + 5*Millisecond)
	}
	if d := w.now - start; d > limit || d < w.cfg.Wait {
		t.Errorf("it serves after %d ms; want between %d and %d", d/Millisecond, w.cfg.Wait/Millisecond, limit/Millisecond)
	}
	if n := w.nodes[1]; n.cold < n.local()+w.cfg.Reach*9/10 {
		t.Errorf("it stores answers at once")
	}
}
