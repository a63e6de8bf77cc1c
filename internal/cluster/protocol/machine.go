package protocol

import (
	"errors"
	"math"
	"math/bits"
)

// Time is nanoseconds on the node's own monotonic clock.
type Time int64

// The units of Time.
const (
	Millisecond Time = 1e6
	Second      Time = 1e9
)

// Config holds the delays of the protocol. All members need the same ones.
type Config struct {
	Lease      Time // how long a proof is valid
	Wait       Time // a Lease as the fastest allowed clock measures it
	Reach      Time // maximum time from the sending of a request until the origin applies it
	Quarantine Time // the same, counted from the loss of its connection
	Settle     Time // maximum lag of the origin's replicas

	Suspect Time // a member that has not acknowledged for so long is suspended
	Silent  Time // a member from which nothing was received for so long is suspended
	Resend  Time // the first interval of repeated messages
	Beat    Time // the interval of Open messages while the node writes or awaits a change of the view
	Idle    Time // the interval otherwise
	Renew   Time // the interval of reads of the view
	Hold    Time // how long a write waits for a lost lease
}

// WithDefaults returns c with the delays that follow from the lease.
func (c Config) WithDefaults() Config {
	set := func(t *Time, value Time) {
		if *t == 0 {
			*t = value
		}
	}
	set(&c.Lease, 1500*Millisecond)
	set(&c.Wait, c.Lease+c.Lease/10)
	set(&c.Quarantine, 30*Second)
	set(&c.Reach, 2*c.Quarantine)
	set(&c.Settle, 5*Second)
	set(&c.Suspect, 250*Millisecond)
	set(&c.Silent, Second)
	set(&c.Resend, 40*Millisecond)
	set(&c.Beat, 100*Millisecond)
	set(&c.Idle, 250*Millisecond)
	set(&c.Renew, c.Lease/3)
	set(&c.Hold, 2*Second)
	return c
}

// Host carries out what a Machine decides. Its methods must not call the Machine, and must
// not block: answers are given later, by the Machine's methods. Writes of this node are named
// by their number, writes of other members by their coordinator and number.
type Host interface {
	// Send sends a message to a node; 0 means all nodes. It may be lost.
	Send(to Instance, m *Message)
	// ReadView starts a strongly consistent read of the view. Viewed has its answer.
	ReadView()
	// WriteView starts a write of the view on condition that the item has the Rev v.Rev-1 and
	// the Creator of v, or that there is no item if v.Rev is 1. Wrote has its answer. Without
	// the Creator a node that was stopped could write over an item that replaced a lost one.
	WriteView(v View)

	// Allowed reports that the origin may be asked for a write. Just before it sends the
	// request, the host checks that it has a lease, and that Empty was not called since the
	// write began: it may be a member again under another number, without this write's fences.
	Allowed(seq uint64)
	// Extended reports that the further tags of a write are fenced on all members.
	Extended(seq uint64)
	// Failed reports that a write will not be allowed, or that its further tags were not fenced.
	Failed(seq uint64, err error)

	// Fence makes everything under tags unreachable and keeps it so, for a member's write. It
	// may be called more than once for a write, with further tags or the same.
	Fence(owner Instance, seq uint64, tags []uint64)
	// Release ends the fence of a write.
	Release(owner Instance, seq uint64)
	// ReleaseIn ends the fence of a write and puts its tags in quarantine.
	ReleaseIn(owner Instance, seq uint64, d Time)
	// Quarantine puts tags in quarantine.
	Quarantine(tags []uint64, d Time)
	// Apply starts to carry out the payload of a member's Inv. Machine.Applied reports its end.
	Apply(owner Instance, seq uint64, payload []byte)

	// Lease sets the time until which the node may serve; it never moves back except to 0.
	Lease(until Time)
	// Empty drops everything stored, also what fills and writes that have begun would store.
	Empty()
	// Cold forbids to store anything before a time.
	Cold(until Time)
	// Settle requires strongly consistent reads until a time.
	Settle(until Time)
	// Changed reports that the mode or the view has changed, for logs and waiters.
	Changed()
	// Wake reports that Tick should be called soon, although Next was later.
	Wake()

	// Instance returns a number for a new membership, under which messages are received from
	// now on.
	Instance() Instance
	// Wall returns the time of day in Unix milliseconds.
	Wall() int64
}

// ErrIsolated is the error of writes on a node without a lease.
var ErrIsolated = errors.New("this node is not in contact with its cluster")

// ErrLost is the error of a write that the origin has executed, but that could not be announced
// to all members: the node was taken out of the view.
var ErrLost = errors.New("this node was taken out of its cluster during the write")

// Mode is the state of a node's membership.
type Mode uint8

// The modes. See the package comment.
const (
	Out Mode = iota
	Probing
	Joining
	In
	Leaving
	Left
)

func (m Mode) String() string {
	return [...]string{"out", "probing", "joining", "in", "leaving", "left"}[m]
}

// maxMembers is the maximum number of members of a view.
const maxMembers = 64

// Machine is the state of one node. Its methods must not be called concurrently.
type Machine struct {
	cfg  Config
	host Host
	self Member
	mode Mode

	view    View     // the newest that was seen; as a member, the node has adopted its epoch
	seen    Time     // when view.Rev was first seen
	created Instance // number of items that this node has written, see creator
	lease   Time     // the node serves until then
	peers   map[Instance]*peer
	slots   [maxMembers]*peer
	others  uint64 // bits of the slots in use

	seq    uint64            // of the newest own write
	writes map[uint64]*write // own writes that are not over
	held   map[heldKey]*held // other members' writes
	quar   []quarantine      // for joining members
	cold   Time              // nothing is stored before

	reading  bool
	again    bool // the view must be read again after the present read
	readAt   Time // when the newest read was sent
	writing  bool
	pending  View // is being written
	retry    Time // no change of the view before
	due      Time // when Tick should be called
	nextBeat Time
	busy     Time // the node has written lately; it is idle from then on

	join  joining
	trace tracer
	stats Stats
}

// joining is the state of an attempt to join, and of the end of the membership.
type joining struct {
	fresh     Time              // until then no other node can serve: the table of the view is new
	began     Time              // when probing began
	next      Time              // when messages are repeated
	reached   map[Instance]bool // members that have answered a probe
	clean     bool              // the view that was joined had no members, and nothing was in flight
	handed    bool              // a serving member has handed over its books
	serveFrom Time              // it may serve then, without books of a serving member
	served    bool              // it has been a serving member
	failures  int               // attempts in a row that have failed
	suspended Time              // since when this node is suspended by another one; 0 if it is not
	leaving   Time              // when Leave was called
	obstacle  string            // why the node can't join, for people
}

// peer is another member.
type peer struct {
	Member
	slot   int
	epoch  uint64 // the newest in its messages
	since  Time   // when it was adopted as a member
	heard  Time   // when the newest message was received
	ack    Time   // smoothed time from an Inv to its Ack
	marked Time   // when this node's suspension of it was seen in the view; 0 without
	gave   bool   // it has handed over its books to this joining node
	evict  bool   // by an operator's request
}

func (p *peer) bit() uint64 { return 1 << p.slot }

// Stats are counters since the start.
type Stats struct {
	Rounds     uint64 // Invs with all acknowledgements
	Resends    uint64 // repeated messages
	Suspended  uint64 // marks by this node
	Evicted    uint64 // members taken out by this node
	Expelled   uint64 // times that this node was taken out
	Refused    uint64 // writes refused for lack of a lease
	Epochs     uint64 // views adopted
	AckNanos   uint64 // sum of the times from Inv to the last Ack
	Quarantine uint64 // writes that ended as unknown, or whose coordinator was taken out
}

// New returns a machine that is out of the view and refuses writes.
func New(cfg Config, host Host) *Machine {
	return &Machine{
		cfg: cfg.WithDefaults(), host: host,
		peers: map[Instance]*peer{}, writes: map[uint64]*write{}, held: map[heldKey]*held{},
	}
}

// Start makes the machine join at the next Tick. self has the node's name and addresses; its
// Instance is set by each attempt to join. If this node has created the table of the view, so
// that nothing can be in flight from an earlier cluster, fresh is one Lease after a time at which
// the table had no item: up to then no other node can have joined and waited until it serves.
// Otherwise fresh is 0.
func (m *Machine) Start(self Member, fresh Time) { m.self, m.join.fresh = self, fresh }

// Mode returns the state of the membership.
func (m *Machine) Mode() Mode { return m.mode }

// Self returns the number of the present membership.
func (m *Machine) Self() Instance { return m.self.Instance }

// View returns the newest view that was seen. It must not be changed.
func (m *Machine) View() *View { return &m.view }

// snapshot returns a copy of the view for a message. The lists of a view are never changed.
func (m *Machine) snapshot() *View {
	v := m.view
	return &v
}

// Stats returns the counters.
func (m *Machine) Stats() Stats { return m.stats }

// member reports whether the node is in the view, as far as is known to it.
func (m *Machine) member() bool { return m.mode == Joining || m.mode == In || m.mode == Leaving }

// Serves reports whether the node may serve from its cache.
func (m *Machine) Serves(now Time) bool { return now < m.lease }

// LeaseEnd returns the end of the lease.
func (m *Machine) LeaseEnd() Time { return m.lease }

// Peer describes another member, for people.
type Peer struct {
	Member
	Suspended bool
	Ack       Time // smoothed time of acknowledgement
	Silence   Time // since the newest message
	Epoch     uint64
}

// Peers returns the other members.
func (m *Machine) Peers(now Time) []Peer {
	out := make([]Peer, 0, len(m.peers))
	for _, o := range m.view.Members {
		if p := m.peers[o.Instance]; p != nil {
			out = append(out, Peer{Member: o, Suspended: m.view.IsSuspended(o.Instance), Ack: p.ack, Silence: now - p.heard, Epoch: p.epoch})
		}
	}
	return out
}

// Silence returns the time since the newest message of another member, or the longest time for a
// node that is no member.
func (m *Machine) Silence(now Time, of Instance) Time {
	if p := m.peers[of]; p != nil {
		return now - p.heard
	}
	return math.MaxInt64
}

// Next returns the time at which Tick should be called next.
func (m *Machine) Next(now Time) Time {
	if len(m.writes) > 0 || m.mode == Probing || m.mode == Joining || m.mode == Leaving {
		return now + m.cfg.Resend/2
	}
	soon := now + m.cfg.Beat/2
	if !m.idle(now) {
		return soon
	}
	next := min(m.nextBeat, m.readAt+m.cfg.Renew)
	for p := range m.members(m.others) {
		next = min(next, p.heard+m.cfg.Silent+Millisecond)
	}
	return max(next, soon)
}

// early returns how long before its time something is done, so that an idle process wakes up
// once for what is due at about the same time.
func (m *Machine) early(now Time) Time {
	if m.idle(now) {
		return m.cfg.Beat / 2
	}
	return 0
}

// idle reports whether the node serves, has not written lately, and awaits no change of the
// view.
func (m *Machine) idle(now Time) bool {
	return m.mode == In && m.Serves(now) && len(m.writes) == 0 && now >= m.busy && len(m.view.Suspended) == 0 && now >= m.retry
}

// busyBeats is the number of frequent Open messages after a write: the message of its end may
// have been lost.
const busyBeats = 3

// awake makes Tick be called in the intervals of a node that writes.
func (m *Machine) awake(now Time) {
	m.busy = now + busyBeats*m.cfg.Beat
	if m.due > now+m.cfg.Beat/2 {
		m.due = m.Next(now)
		m.host.Wake()
	}
}

// Tick does all that is due.
func (m *Machine) Tick(now Time) {
	if overrun := now - m.due; overrun > m.cfg.Suspect/2 {
		m.excuse(now, overrun)
	}
	if len(m.writes) > 0 {
		m.awake(now)
	}
	if !m.idle(now) {
		m.nextBeat = min(m.nextBeat, now+m.cfg.Beat)
	}
	m.pruneQuarantines(now)
	m.resendWrites(now)
	switch m.mode {
	case Out:
		m.startProbe(now)
	case Probing, Joining:
		m.repeatJoin(now)
	case Leaving:
		if now-m.join.leaving >= leaveTimeout {
			m.end()
		}
	}
	early := m.early(now)
	if now+early >= m.nextBeat && m.member() {
		m.nextBeat = now + m.cfg.Beat
		if m.idle(now) {
			m.nextBeat = now + m.cfg.Idle
		}
		m.sendOpen()
	}
	if m.mode != Left && (m.again || now+early-m.readAt >= m.renewal()) {
		m.read(now)
	}
	m.change(now)
	m.due = m.Next(now)
}

// excuse is called when this node did not run for a time: the others are not late because of
// that, since what they have sent is still to be received.
func (m *Machine) excuse(now, gap Time) {
	for _, p := range m.peers {
		p.heard, p.since = min(now, p.heard+gap), min(now, p.since+gap)
	}
	for _, w := range m.writes {
		if w.state != waiting {
			w.begun = min(now, w.begun+gap)
		}
	}
}

// renewal returns the interval of reads of the view. It is shorter while a change is awaited.
func (m *Machine) renewal() Time {
	if m.mode == Out || m.mode == In && len(m.view.Suspended) == 0 {
		return m.cfg.Renew
	}
	return m.cfg.Renew / 3
}

// members iterates over the peers in a set of slots.
func (m *Machine) members(set uint64) func(func(*peer) bool) {
	return func(yield func(*peer) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(m.slots[bits.TrailingZeros64(set)]) {
				return
			}
		}
	}
}

// Receive handles a message of another node.
func (m *Machine) Receive(now Time, from Instance, msg *Message) {
	if from == m.self.Instance || m.mode == Out || m.mode == Left {
		return
	}
	p := m.peers[from]
	if p != nil {
		p.heard = now
		if msg.Epoch > p.epoch {
			p.epoch = msg.Epoch
			if p.epoch == m.view.Epoch {
				m.resendTo(p) // it may have refused them under its former epoch
			}
		}
	}
	if msg.Epoch > m.view.Epoch && m.member() {
		m.readNow(now)
	}
	switch msg.Kind {
	case Probe:
		m.host.Send(from, &Message{Kind: Probed, Epoch: m.view.Epoch, Seq: msg.Seq, Serving: m.mode == In})
		return
	case Probed:
		if m.mode == Probing {
			m.join.reached[from] = true
			m.change(now)
		}
		return
	case Join, Newer:
		if msg.View != nil && m.member() {
			m.accept(now, *msg.View)
		}
		if msg.Kind == Join {
			m.handOver(now, from)
		}
		return
	}
	if p = m.peers[from]; p == nil {
		return
	}
	switch msg.Kind {
	case Inv:
		m.invalidate(p, msg)
	case Ack:
		m.acknowledged(now, p, msg)
	case Val:
		m.release(from, msg.Seq)
	case Unknown:
		m.unknownHere(now, from, msg)
	case Done:
		m.done(p, msg)
	case Open:
		m.releaseOthers(from, msg)
		if m.idle(now) && now+m.cfg.Idle/2 >= m.nextBeat {
			m.nextBeat = now // all members send theirs at about the same time
			m.due = now
			m.host.Wake()
		}
		if msg.Epoch < m.view.Epoch {
			m.host.Send(from, &Message{Kind: Newer, Epoch: m.view.Epoch, View: m.snapshot()})
		}
	case Books:
		m.takeOver(now, p, msg)
	}
}
