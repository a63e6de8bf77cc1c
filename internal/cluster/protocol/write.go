package protocol

import (
	"cmp"
	"math/bits"
	"slices"
)

// writeState is the state of an own write. See the package comment.
type writeState uint8

const (
	waiting   writeState = iota // for a lease, before anything was sent
	asking                      // Inv is sent
	allowed                     // all have acknowledged; the origin may have been asked
	extending                   // Inv with further tags is sent
	unknown                     // Unknown is sent
)

// write is a write of this node that is not over.
type write struct {
	seq      uint64
	state    writeState
	tags     []uint64
	further  []uint64 // of the answer
	payload  []byte
	unsure   []uint64 // further ones that the answer may show
	round    uint64
	acks     uint64 // slots of the members that have acknowledged the present round
	complete bool   // all have, and the round waits for a lease
	begun    Time   // of the present round, or of the wait
	resend   Time
	interval Time // between the next two messages
}

// Begin begins a write of tags, or one that carries out payload on all members. The caller
// has fenced the tags on this node. unsure are tags that the write may touch too: the others
// put them in quarantine if this node is taken out before the end of the write. Allowed or Failed reports the result, perhaps before
// Begin returns.
func (m *Machine) Begin(now Time, tags []uint64, payload []byte, unsure ...uint64) (seq uint64) {
	m.seq++
	w := &write{seq: m.seq, tags: tags, payload: payload, unsure: unsure, begun: now}
	m.writes[w.seq] = w
	m.awake(now)
	switch {
	case m.mode == In && m.Serves(now):
		m.ask(now, w, asking)
	case m.mode == In && now < m.lease+m.cfg.Hold:
		// The lease may be back soon.
	default:
		m.refuse(w)
	}
	return w.seq
}

func (m *Machine) refuse(w *write) {
	m.stats.Refused++
	delete(m.writes, w.seq)
	m.host.Failed(w.seq, ErrIsolated)
}

// ask starts a round of a write.
func (m *Machine) ask(now Time, w *write, state writeState) {
	w.state, w.acks, w.complete, w.begun = state, 0, false, now
	w.interval, w.resend = m.cfg.Resend, now+m.cfg.Resend
	m.trace.begin(m, w)
	if m.others != 0 {
		m.host.Send(0, m.inv(w))
	}
	m.check(now, w)
}

// inv returns the message of the present round of w.
func (m *Machine) inv(w *write) *Message {
	if w.state == extending {
		return &Message{Kind: Inv, Epoch: m.view.Epoch, Seq: w.seq, Round: w.round, Tags: w.further}
	}
	return &Message{Kind: Inv, Epoch: m.view.Epoch, Seq: w.seq, Tags: w.tags, Payload: w.payload, Unsure: w.unsure}
}

// check ends the round of w if all members have acknowledged and the node has a lease.
func (m *Machine) check(now Time, w *write) {
	if w.state != asking && w.state != extending || !m.acknowledgedByAll(w) {
		w.complete = false
		return
	}
	w.complete = true
	if m.mode != In && m.mode != Leaving || !m.Serves(now) && !off(ruleLeaseAtRound) {
		return // until the next proof
	}
	w.complete = false
	m.stats.Rounds++
	m.trace.round(w)
	m.stats.AckNanos += uint64(now - w.begun)
	if w.state == extending {
		w.state = allowed
		m.host.Extended(w.seq)
		return
	}
	w.state = allowed
	m.host.Allowed(w.seq)
}

// acknowledgedByAll reports whether all members have acknowledged the present round of w.
func (m *Machine) acknowledgedByAll(w *write) bool {
	others := m.others
	if off(ruleAllAcknowledge) && 2*bits.OnesCount64(w.acks&others) >= bits.OnesCount64(others) {
		return true
	}
	if off(ruleJoinersAcknowledge) {
		for p := range m.members(others) {
			if p.Joining {
				others &^= p.bit()
			}
		}
	}
	return w.acks&others == others
}

// acknowledged handles an Ack of the present round. An acknowledgement under an earlier epoch counts, because its
// sender has been a member ever since.
func (m *Machine) acknowledged(now Time, p *peer, msg *Message) {
	w := m.writes[msg.Seq]
	if w == nil || w.state != asking && w.state != extending || w.round != msg.Round && !off(ruleRounds) || w.acks&p.bit() != 0 {
		return
	}
	w.acks |= p.bit()
	p.ack += (now - w.begun - p.ack) / 8
	m.check(now, w)
}

// Extend adds tags to a write that is allowed. Extended or Failed reports the result.
func (m *Machine) Extend(now Time, seq uint64, tags []uint64) {
	m.trace.extend(m, seq)
	w := m.writes[seq]
	if w == nil || w.state != allowed || m.mode != In && m.mode != Leaving {
		m.host.Failed(seq, ErrLost)
		return
	}
	w.further = append(w.further, tags...)
	w.round++
	m.ask(now, w, extending)
	if off(ruleExtend) && w.state == extending {
		w.state = allowed
		m.host.Extended(seq)
	}
}

// Commit ends a write whose outcome is known, or that was not sent.
func (m *Machine) Commit(seq uint64) {
	m.trace.commit(seq)
	w := m.writes[seq]
	if w == nil {
		return
	}
	delete(m.writes, seq)
	if m.others != 0 && w.state != waiting {
		m.host.Send(0, &Message{Kind: Val, Epoch: m.view.Epoch, Seq: seq})
	}
}

// Unknown ends a write whose outcome is unknown: its tags and the given ones are put in
// quarantine on all members. The caller has done so on this node.
func (m *Machine) Unknown(now Time, seq uint64, tags []uint64) {
	m.trace.unknown(seq)
	w := m.writes[seq]
	if w == nil {
		return
	}
	w.further = append(w.further, tags...)
	m.stats.Quarantine++
	m.remember(now, slices.Concat(w.tags, w.further), m.cfg.Quarantine)
	if m.others == 0 || off(ruleUnknownOpen) {
		delete(m.writes, seq)
		m.sendUnknown(w)
		return
	}
	w.state, w.acks, w.begun = unknown, 0, now
	w.interval, w.resend = m.cfg.Resend, now+m.cfg.Resend
	m.sendUnknown(w)
}

// sendUnknown sends that the outcome of w is unknown.
func (m *Machine) sendUnknown(w *write) {
	if m.others != 0 {
		m.host.Send(0, m.unknownMessage(w))
	}
}

func (m *Machine) unknownMessage(w *write) *Message {
	return &Message{Kind: Unknown, Epoch: m.view.Epoch, Seq: w.seq, Tags: slices.Concat(w.tags, w.further)}
}

// done handles a Done.
func (m *Machine) done(p *peer, msg *Message) {
	w := m.writes[msg.Seq]
	if w == nil || w.state != unknown {
		return
	}
	w.acks |= p.bit()
	m.checkUnknown(w)
}

func (m *Machine) checkUnknown(w *write) {
	if w.acks&m.others == m.others {
		delete(m.writes, w.seq)
	}
}

// resendWrites repeats the messages that were not acknowledged in time, and refuses writes
// that have waited too long for a lease.
func (m *Machine) resendWrites(now Time) {
	if off(ruleResend) {
		return
	}
	for _, w := range m.writesBy(func(w *write) bool {
		return w.state == waiting && (m.mode != In || now >= w.begun+m.cfg.Hold) ||
			w.state != waiting && w.state != allowed && now >= w.resend
	}) {
		if w.state == waiting {
			m.refuse(w)
			continue
		}
		w.interval = min(2*w.interval, 2*m.cfg.Resend)
		w.resend = now + w.interval
		for p := range m.members(m.others &^ w.acks) {
			m.stats.Resends++
			m.host.Send(p.Instance, m.round(w))
			if off(ruleNoGap) {
				w.acks |= p.bit()
			}
		}
	}
}

// round returns the message that members have to acknowledge now.
func (m *Machine) round(w *write) *Message {
	if w.state == unknown {
		return m.unknownMessage(w)
	}
	return m.inv(w)
}

// resendTo repeats everything that p has not acknowledged.
func (m *Machine) resendTo(p *peer) {
	for _, w := range m.writesBy(func(w *write) bool {
		return (w.state == asking || w.state == extending || w.state == unknown) && w.acks&p.bit() == 0
	}) {
		m.host.Send(p.Instance, m.round(w))
	}
}

// writesBy returns the own writes for which a function returns true, in their order.
func (m *Machine) writesBy(is func(*write) bool) (out []*write) {
	for _, w := range m.writes {
		if is(w) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b *write) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// oldest returns since when p owes an acknowledgement of a round, or the present time.
func (m *Machine) oldest(now Time) (since [maxMembers]Time) {
	for i := range since {
		since[i] = now
	}
	for _, w := range m.writes {
		if w.state != asking && w.state != extending {
			continue
		}
		for p := range m.members(m.others &^ w.acks) {
			since[p.slot] = min(since[p.slot], max(w.begun, p.since))
		}
	}
	return since
}

// leased is called when the node has a lease again.
func (m *Machine) leased(now Time) {
	for _, w := range m.writesBy(func(w *write) bool { return w.state == waiting || w.complete }) {
		switch {
		case w.state == waiting:
			m.ask(now, w, asking)
		case w.complete:
			m.check(now, w)
		}
	}
}

// abandon ends all own writes, because the node is not a member any more.
func (m *Machine) abandon() {
	m.trace.abandon()
	if off(ruleAbandon) {
		return
	}
	all := m.writesBy(func(*write) bool { return true })
	clear(m.writes)
	for _, w := range all {
		switch w.state {
		case waiting, asking:
			m.stats.Refused++
			m.host.Failed(w.seq, ErrIsolated)
		case extending:
			m.host.Failed(w.seq, ErrLost)
		}
	}
}
