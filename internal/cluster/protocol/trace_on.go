//go:build kasokutrace

package protocol

import "slices"

// Step is a step of a node as specs/README.md lists them, for the check that a run is a
// behaviour of the specification.
type Step struct {
	Action string
	Of     Instance // the other member
	Owner  Instance // of the write; 0 for the machine's own ones and for none
	Seq    uint64   // of the write; 0 for none
	Round  uint64   // of RecvInv
	Kind   string   // of Begin
	Tags   []uint64 // of Begin: the write's
	Load   []byte   // of Begin: the write's payload
	Epoch  uint64   // the node's after the step; 0 if the step does not show it
	Mode   string   // the same; "" if the step does not show it
}

// tracer logs the steps of a machine.
type tracer struct {
	log   func(Step)
	epoch uint64            // as logged last
	own   map[uint64]phase  // own writes
	acked map[ackedKey]bool // acknowledged in the present membership
}

// ackedKey names a round of a member's write.
type ackedKey struct {
	heldKey
	round uint64
}

// phase is the state of an own write in the specification. The machine forgets a write when
// its membership ends, though its request may still be answered.
type phase uint8

const (
	phaseNone phase = iota
	phaseInv
	phaseReady
	phaseSent
	phaseMore
	phaseEnded
	phaseDead // by the end of the membership
)

// Trace calls log for each step from now on. It must not call the machine.
func (m *Machine) Trace(log func(Step)) {
	m.trace = tracer{log: log, own: map[uint64]phase{}, acked: map[ackedKey]bool{}}
}

// TraceSend logs that the host sends the request of an own write to the origin, when it is
// called for the first time for the write.
func (m *Machine) TraceSend(seq uint64) {
	switch t := &m.trace; t.own[seq] {
	case phaseInv, phaseReady, phaseDead:
		t.set(seq, phaseSent, Step{Action: "Send"})
	}
}

// set changes the phase of an own write and logs the step that has done so.
func (t *tracer) set(seq uint64, p phase, s Step) {
	t.own[seq] = p
	s.Seq = seq
	t.log(s)
}

// read logs that the answer to a read of the view has arrived, before its consequences.
func (t *tracer) read(m *Machine, v *View) {
	self := v.Find(m.self.Instance)
	if t.log == nil || !m.member() && self == nil {
		return
	}
	t.view("GotView", m, v)
}

// adopt logs that the machine adopts the epoch of its view, unless a read has shown that.
func (t *tracer) adopt(m *Machine) {
	if t.log == nil {
		return
	}
	self := m.view.Find(m.self.Instance)
	switch {
	case m.view.Epoch == t.epoch:
	case m.member(), m.mode == Probing && self != nil:
		t.view("AdoptView", m, &m.view)
	}
}

// view logs a step that makes the machine adopt v, or that ends its membership.
func (t *tracer) view(action string, m *Machine, v *View) {
	s := Step{Action: action, Epoch: v.Epoch}
	if v.Find(m.self.Instance) == nil {
		s.Epoch = 0
		if m.mode != Leaving {
			s.Mode = "out"
		}
	}
	t.epoch = v.Epoch
	t.log(s)
}

// handOver logs that the machine hands over its books.
func (t *tracer) handOver(m *Machine, to Instance) {
	if t.log != nil {
		t.log(Step{Action: "HandOver", Of: to, Epoch: m.view.Epoch})
	}
}

// takeOver logs that the machine takes over the books of a member.
func (t *tracer) takeOver(from Instance) {
	if t.log != nil {
		t.log(Step{Action: "GotBooks", Of: from})
	}
}

// begin logs that the first Inv of w is sent.
func (t *tracer) begin(m *Machine, w *write) {
	if t.log == nil || w.state != asking {
		return
	}
	kind := "put"
	if w.payload != nil {
		kind = "purge"
	}
	t.set(w.seq, phaseInv, Step{Action: "Begin", Kind: kind, Tags: slices.Clone(w.tags), Load: w.payload, Epoch: m.view.Epoch})
}

// round logs that all members have acknowledged a round of w. That ends a purge, and a write
// with further tags.
func (t *tracer) round(w *write) {
	switch {
	case t.log == nil:
	case w.payload != nil || w.state == extending:
		t.set(w.seq, phaseEnded, Step{Action: "RoundDone"})
	default:
		t.set(w.seq, phaseReady, Step{Action: "RoundDone"})
	}
}

// extend logs the origin's answer to a write, which has further tags.
func (t *tracer) extend(m *Machine, seq uint64) {
	if t.log == nil || t.own[seq] != phaseSent {
		return
	}
	next := phaseMore
	if w := m.writes[seq]; w == nil || m.mode != In && m.mode != Leaving {
		next = phaseEnded
	}
	t.set(seq, next, Step{Action: "Answer", Kind: "index"})
}

// commit logs the origin's answer to a write, or that the write was not sent.
func (t *tracer) commit(seq uint64) {
	switch t.own[seq] {
	case phaseInv, phaseReady:
		t.set(seq, phaseEnded, Step{Action: "Refuse"})
	case phaseSent:
		t.set(seq, phaseEnded, Step{Action: "Answer"})
	}
}

// unknown logs that the outcome of a write is unknown.
func (t *tracer) unknown(seq uint64) {
	switch t.own[seq] {
	case phaseInv, phaseReady:
		t.set(seq, phaseEnded, Step{Action: "Refuse"})
	case phaseSent, phaseMore:
		t.set(seq, phaseEnded, Step{Action: "GiveUp"})
	}
}

// abandon ends the own writes that are not at the origin, with the machine's membership.
func (t *tracer) abandon() {
	for seq, p := range t.own {
		switch p {
		case phaseInv, phaseReady:
			t.own[seq] = phaseDead
		case phaseMore:
			t.own[seq] = phaseEnded
		}
	}
}

// acknowledge logs the first acknowledgement of a round of a member's write.
func (t *tracer) acknowledge(k heldKey, round uint64) {
	if a := (ackedKey{k, round}); t.log != nil && !t.acked[a] {
		t.acked[a] = true
		t.log(Step{Action: "RecvInv", Owner: k.owner, Seq: k.seq, Round: round})
	}
}

// release logs that the fence of a member's write ends.
func (t *tracer) release(k heldKey) {
	if t.log != nil {
		t.log(Step{Action: "RecvVal", Owner: k.owner, Seq: k.seq})
	}
}

// expel forgets what was acknowledged, with the machine's membership.
func (t *tracer) expel() { clear(t.acked) }
