package protocol

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// script is a machine with a host that records what the machine does. Tests are the network,
// the origin and the clock.
type script struct {
	*Machine
	t    *testing.T
	now  Time
	log  []string // since the last expect
	next Instance
	view View // that was written last
}

var errTimeout = errors.New("timeout")

func newScript(t *testing.T, fresh bool) *script {
	s := &script{t: t}
	s.Machine = New(Config{}, s)
	s.Machine.Start(Member{Node: "self"}, fresh)
	return s
}

func (s *script) record(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// expect compares what the machine has done since the last call.
func (s *script) expect(want ...string) {
	s.t.Helper()
	if !slices.Equal(s.log, want) {
		s.t.Fatalf("at %d ms:\n got %q\nwant %q", s.now/Millisecond, s.log, want)
	}
	s.log = nil
}

// skip forgets what the machine has done since the last expect.
func (s *script) skip() { s.log = nil }

func (s *script) wait(d Time) { s.now += d }

func (s *script) viewed(v View) { s.Viewed(s.now, v.clone(), nil) }

// join makes the machine a serving member of a view with others, whose books are empty.
func (s *script) join(others ...Member) {
	s.t.Helper()
	view := View{}
	if len(others) > 0 {
		view = View{Rev: 1, Creator: others[0].Instance, Epoch: 1, Members: others}
	}
	s.Tick(s.now)
	s.viewed(view)
	for _, o := range others {
		s.Receive(s.now, o.Instance, &Message{Kind: Probed, Epoch: view.Epoch, Serving: true})
	}
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	for _, o := range others {
		s.Receive(s.now, o.Instance, &Message{Kind: Books, Epoch: s.view.Epoch, Serving: true, Books: &Book{}})
	}
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	if !s.Serves(s.now) {
		s.t.Fatalf("it does not serve: %s, %q", s.Mode(), s.log)
	}
	s.log = nil
}

// others returns serving members.
func others(instances ...Instance) (out []Member) {
	for _, i := range instances {
		out = append(out, Member{Instance: i, Node: fmt.Sprintf("n%d", i)})
	}
	return out
}

func (s *script) Send(to Instance, m *Message) {
	name := [...]string{"", "inv", "ack", "val", "unknown", "done", "open", "probe", "probed", "join", "books", "newer"}[m.Kind]
	switch m.Kind {
	case Inv, Unknown:
		s.record("%s %d to %d: %d", name, m.Seq, to, m.Tags)
	case Open:
		s.record("%s %d to %d: %d", name, m.Seq, to, m.Seqs)
	case Books:
		s.record("%s to %d, serving: %t: %v", name, to, m.Serving, *m.Books)
	default:
		s.record("%s %d to %d", name, m.Seq, to)
	}
}
func (s *script) ReadView() { s.record("read") }
func (s *script) WriteView(v View) {
	s.view = v.clone()
	s.record("write%s", describe(&v))
}
func (s *script) Allowed(seq uint64)           { s.record("allowed %d", seq) }
func (s *script) Extended(seq uint64)          { s.record("extended %d", seq) }
func (s *script) Failed(seq uint64, err error) { s.record("failed %d: %v", seq, err) }
func (s *script) Fence(owner Instance, seq uint64, tags []uint64) {
	s.record("fence %d of %d: %d", seq, owner, tags)
}
func (s *script) Release(owner Instance, seq uint64) { s.record("release %d of %d", seq, owner) }
func (s *script) ReleaseIn(owner Instance, seq uint64, d Time) {
	s.record("release %d of %d in %d ms", seq, owner, d/Millisecond)
}
func (s *script) Quarantine(tags []uint64, d Time) {
	s.record("quarantine %d for %d ms", tags, d/Millisecond)
}
func (s *script) Apply(owner Instance, seq uint64, payload []byte) {
	s.record("apply %s, %d of %d", payload, seq, owner)
}
func (s *script) Lease(until Time)  { s.record("lease until %d ms", until/Millisecond) }
func (s *script) Empty()            { s.record("empty") }
func (s *script) Cold(until Time)   { s.record("cold until %d ms", until/Millisecond) }
func (s *script) Settle(until Time) { s.record("settle until %d ms", until/Millisecond) }
func (s *script) Changed()          {}
func (s *script) Wall() int64       { return int64(s.now / Millisecond) }
func (s *script) Instance() Instance {
	s.next++
	return 100 + s.next
}

// TestLeaseCountsFromTheRead shows the node as a serving member in the answer to a read that
// took long, because the answer to its own write was lost.
func TestLeaseCountsFromTheRead(t *testing.T) {
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

// TestJoinersOfANewItemWait joins the item that another node has created a moment ago: an
// item before it may have been lost, and its members may still serve.
func TestJoinersOfANewItemWait(t *testing.T) {
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

// TestFreshOnce loses the item that the node has created together with its table: the next
// item that it creates is not the first one.
func TestFreshOnce(t *testing.T) {
	s := newScript(t, true)
	s.join()
	s.wait(Second)
	s.Tick(s.now)
	s.viewed(View{})
	if s.Mode() != Out {
		t.Fatalf("%s without an item", s.Mode())
	}
	s.wait(Second)
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
	s.expect("empty", "settle until 8650 ms", "cold until 63650 ms")
}

// TestCleanNeedsService leaves a view before its node has served: whatever made the joining
// node wait applies to the next one as well.
func TestCleanNeedsService(t *testing.T) {
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

// TestRounds extends a write twice, and repeats the acknowledgements of earlier rounds.
func TestRounds(t *testing.T) {
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

// TestPurging takes over a purge from a book, and begins one.
func TestPurging(t *testing.T) {
	s := newScript(t, false)
	s.Tick(s.now)
	s.viewed(View{Rev: 1, Creator: 1, Epoch: 1, Members: others(1, 2)})
	for i := range Instance(2) {
		s.Receive(s.now, 1+i, &Message{Kind: Probed, Epoch: 1, Serving: true})
	}
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	epoch := s.view.Epoch
	s.Receive(s.now, 1, &Message{Kind: Books, Epoch: epoch, Serving: true, Books: &Book{Writes: []HeldWrite{{2, 9, nil, true}}}})
	s.Receive(s.now, 2, &Message{Kind: Inv, Epoch: epoch, Seq: 9, Payload: []byte("purge")})
	s.Receive(s.now, 2, &Message{Kind: Books, Epoch: epoch, Serving: true, Books: &Book{}})
	s.Wrote(s.now, nil)
	s.viewed(s.view)
	if !s.Serves(s.now) || !s.Purging() {
		t.Errorf("serves: %t, purging: %t; want both", s.Serves(s.now), s.Purging())
	}
	s.Receive(s.now, 2, &Message{Kind: Val, Epoch: epoch, Seq: 9})
	if s.Purging() {
		t.Error("a member's purge is over; this node is purging")
	}
	s.Begin(s.now, nil, []byte("purge"))
	if !s.Purging() {
		t.Error("this node's purge is in flight; it is not purging")
	}
	s.Commit(1)
	if s.Purging() {
		t.Error("this node's purge is over; it is purging")
	}
}

// TestBooksOfANodeThatLeaves asks a joining node for its books that is leaving again: it never
// had a lease, so its books end no joiner's wait.
func TestBooksOfANodeThatLeaves(t *testing.T) {
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
