package protocol

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// reporter is what scripts use of testing.T. TestMutants runs them as well, and expects that
// one of them fails.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// scripts are tests of one machine, or of a few without chaos.
var scripts = []struct {
	name string
	run  func(t reporter)
}{
	{"Write", scriptWrite},
	{"Resend", scriptResend},
	{"LeaseAtRound", scriptLeaseAtRound},
	{"Hold", scriptHold},
	{"FormerAcks", scriptFormerAcks},
	{"Adopt", scriptAdopt},
	{"Fence", scriptFence},
	{"Payload", scriptPayload},
	{"Unknown", scriptUnknown},
	{"ManyQuarantines", scriptManyQuarantines},
	{"LeaseCountsFromTheRead", scriptLeaseCountsFromTheRead},
	{"JoinersOfANewItemWait", scriptJoinersOfANewItemWait},
	{"NewItemTwice", scriptNewItemTwice},
	{"FreshOnce", scriptFreshOnce},
	{"FreshEnds", scriptFreshEnds},
	{"CleanNeedsService", scriptCleanNeedsService},
	{"Rounds", scriptRounds},
	{"Purging", scriptPurging},
	{"BooksOfANodeThatLeaves", scriptBooksOfANodeThatLeaves},
	{"Suspend", scriptSuspend},
	{"Evict", scriptEvict},
	{"EvictJoining", scriptEvictJoining},
	{"Operator", scriptOperator},
	{"OperatorTwice", scriptOperatorTwice},
	{"Suspended", scriptSuspended},
	{"Expelled", scriptExpelled},
	{"Join", scriptJoin},
	{"Obstacles", scriptObstacles},
	{"FormerLife", scriptFormerLife},
	{"Leave", scriptLeave},
	{"CleanQuiet", scriptCleanQuiet},
	{"LostView", scriptLostView},
	{"SuspendEachOther", scriptSuspendEachOther},
	{"FormerMark", scriptFormerMark},
	{"PowerCut", scriptPowerCut},
	{"Idle", scriptIdle},
	{"IdleTogether", scriptIdleTogether},
	{"IdleSilence", scriptIdleSilence},
}

func TestScripts(t *testing.T) {
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) { s.run(t) })
	}
}

// script is a machine with a host that records what the machine does. Tests are the network,
// the origin and the clock.
type script struct {
	*Machine
	t     reporter
	now   Time
	log   []string // since the last expect
	next  Instance
	view  View // that was written last
	item  View // at the origin
	wakes int
}

var errTimeout = errors.New("timeout")

func newScript(t reporter, fresh bool) *script {
	s := &script{t: t}
	s.Machine = New(Config{}, s)
	limit := Time(0)
	if fresh {
		limit = s.now + s.cfg.Lease
	}
	s.Machine.Start(Member{Node: "self"}, limit)
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
	s.item = s.view.clone()
	for s.reading {
		s.viewed(s.item)
	}
	if !s.Serves(s.now) {
		s.t.Fatalf("it does not serve: %s, %q", s.Mode(), s.log)
	}
	s.log = nil
}

// expectOnly compares what the machine has done, of kinds that begin with one of the prefixes.
func (s *script) expectOnly(prefixes string, want ...string) {
	s.t.Helper()
	s.log = slices.DeleteFunc(s.log, func(l string) bool {
		return !slices.Contains(strings.Fields(prefixes), strings.Fields(l)[0])
	})
	s.expect(want...)
}

// pass lets time pass, in which the origin answers, and the members that are alive send Open.
func (s *script) pass(d Time, alive ...Instance) {
	for end := s.now + d; s.now < end; {
		s.now += 10 * Millisecond
		for _, i := range alive {
			s.Receive(s.now, i, &Message{Kind: Open, Epoch: s.item.Epoch})
		}
		s.Tick(s.now)
		if s.writing {
			s.item = s.view.clone()
			s.Wrote(s.now, nil)
		}
		if s.reading {
			s.viewed(s.item)
		}
	}
}

// change is a change of the view by another member.
func (s *script) change(change func(v *View)) {
	s.item = s.item.clone()
	s.item.Rev++
	change(&s.item)
	s.Receive(s.now, s.item.Members[0].Instance, &Message{Kind: Newer, Epoch: s.item.Epoch, View: &s.item})
	s.log = nil
}

// from is a message of a member under the present epoch.
func (s *script) from(i Instance, kind Kind, seq uint64) {
	s.Receive(s.now, i, &Message{Kind: kind, Epoch: s.item.Epoch, Seq: seq})
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
		s.record("%s to %d, serving: %t: %s", name, to, m.Serving, bookText(*m.Books))
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
func (s *script) Wake()             { s.wakes++ }
func (s *script) Wall() int64       { return int64(s.now / Millisecond) }
func (s *script) Instance() Instance {
	s.next++
	return 100 + s.next
}

func bookText(b Book) string { return fmt.Sprint(b) }
