package protocol

import (
	"cmp"
	"slices"
)

// heldKey names a write of another member.
type heldKey struct {
	owner Instance
	seq   uint64
}

// held is a write of another member whose tags are fenced here.
type held struct {
	tags    []uint64
	unsure  []uint64 // further ones that the write may touch
	applied bool     // the payload, if there is one, is carried out
	payload bool     // it has a payload
	epoch   uint64   // of the newest Inv
}

// quarantine is a set of tags that are in quarantine here.
type quarantine struct {
	tags  []uint64
	until Time
}

// invalidate handles an Inv. It is acknowledged only under the node's own epoch: otherwise
// the sender might complete a round with members of which it is not aware.
func (m *Machine) invalidate(p *peer, msg *Message) {
	if msg.Epoch != m.view.Epoch || !m.member() {
		return
	}
	k := heldKey{p.Instance, msg.Seq}
	h := m.held[k]
	if h == nil {
		h = &held{applied: msg.Payload == nil, payload: msg.Payload != nil}
		m.held[k] = h
		if h.payload {
			h.applied = off(ruleApplyFirst)
			m.host.Apply(p.Instance, msg.Seq, msg.Payload)
		}
	}
	h.epoch = msg.Epoch
	h.add(msg.Tags)
	if msg.Unsure != nil {
		h.unsure = msg.Unsure
	}
	m.host.Fence(p.Instance, msg.Seq, msg.Tags)
	if h.applied {
		m.trace.acknowledge(k, msg.Round)
		m.host.Send(p.Instance, &Message{Kind: Ack, Epoch: m.view.Epoch, Seq: msg.Seq, Round: msg.Round})
	}
}

// add adds the tags that h does not have.
func (h *held) add(tags []uint64) {
	for _, t := range tags {
		if !slices.Contains(h.tags, t) {
			h.tags = append(h.tags, t)
		}
	}
}

// Applied reports that the payload of a member's Inv was carried out.
func (m *Machine) Applied(owner Instance, seq uint64) {
	h := m.held[heldKey{owner, seq}]
	if h == nil || h.applied {
		return
	}
	h.applied = true
	if h.epoch == m.view.Epoch {
		m.trace.acknowledge(heldKey{owner, seq}, 0)
		m.host.Send(owner, &Message{Kind: Ack, Epoch: m.view.Epoch, Seq: seq})
	}
}

// Purging reports whether a payload is being carried out somewhere: answers of peers may be
// older than it.
func (m *Machine) Purging() bool {
	for _, w := range m.writes {
		if w.payload != nil {
			return true
		}
	}
	for _, h := range m.held {
		if h.payload {
			return true
		}
	}
	return false
}

// release ends the fence of a write that is over.
func (m *Machine) release(owner Instance, seq uint64) {
	k := heldKey{owner, seq}
	if off(ruleOwner) {
		for _, any := range m.heldBy(0) {
			if any.seq == seq {
				k = any
			}
		}
		owner = k.owner
	}
	if m.held[k] != nil {
		delete(m.held, k)
		m.trace.release(k)
		m.host.Release(owner, seq)
	}
}

// releaseOthers ends the fences of all writes that an Open shows to be over.
func (m *Machine) releaseOthers(owner Instance, msg *Message) {
	for _, k := range m.heldBy(owner) {
		if k.seq > msg.Seq {
			break
		}
		if _, open := slices.BinarySearch(msg.Seqs, k.seq); !open && !off(ruleOpenEnds) || off(ruleOpen) {
			m.release(owner, k.seq)
		}
	}
}

// heldBy returns the writes of owner that are held, in their order; 0 means all owners.
func (m *Machine) heldBy(owner Instance) (out []heldKey) {
	for k := range m.held {
		if owner == 0 || k.owner == owner {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b heldKey) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.seq, b.seq))
	})
	return out
}

// sendOpen sends the numbers of all own writes that are not over.
func (m *Machine) sendOpen() {
	if m.others == 0 {
		return
	}
	seqs := make([]uint64, 0, len(m.writes))
	for seq := range m.writes {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	m.host.Send(0, &Message{Kind: Open, Epoch: m.view.Epoch, Seq: m.seq, Seqs: seqs})
}

// unknownHere handles an Unknown.
func (m *Machine) unknownHere(now Time, from Instance, msg *Message) {
	k := heldKey{from, msg.Seq}
	if off(ruleUnknown) {
		m.release(from, msg.Seq)
	} else {
		m.host.Quarantine(msg.Tags, m.cfg.Quarantine)
		m.remember(now, msg.Tags, m.cfg.Quarantine)
	}
	if m.held[k] != nil {
		delete(m.held, k)
		m.trace.release(k)
		m.host.ReleaseIn(from, msg.Seq, m.cfg.Quarantine)
	}
	m.host.Send(from, &Message{Kind: Done, Epoch: m.view.Epoch, Seq: msg.Seq})
}

// dropWritesOf puts the open writes of a former member in quarantine: the origin may still
// apply them.
func (m *Machine) dropWritesOf(now Time, owner Instance) {
	for _, k := range m.heldBy(owner) {
		if off(ruleDropped) {
			m.release(owner, k.seq)
			continue
		}
		m.stats.Quarantine++
		h := m.held[k]
		m.remember(now, slices.Concat(h.tags, h.unsure), m.cfg.Reach)
		m.host.ReleaseIn(owner, k.seq, m.cfg.Reach)
		if len(h.unsure) > 0 {
			m.host.Quarantine(h.unsure, m.cfg.Reach)
		}
		delete(m.held, k)
	}
}

// remember records a quarantine, for members that join before its end.
func (m *Machine) remember(now Time, tags []uint64, d Time) {
	if len(tags) > 0 {
		m.quar = append(m.quar, quarantine{tags, now + d})
	}
}

func (m *Machine) pruneQuarantines(now Time) {
	if len(m.quar) > 0 {
		m.quar = slices.DeleteFunc(m.quar, func(q quarantine) bool { return q.until <= now })
	}
}

// maxBookTags limits the quarantines of a Book, so that it fits into a message: after an
// outage of the origin the joining member stores nothing at all for a time instead.
const maxBookTags = 1 << 15

// book returns what a joining member needs.
func (m *Machine) book(now Time) *Book {
	b := &Book{Cold: max(0, m.cold-now)}
	if off(ruleBookWrites) {
		return b
	}
	for _, k := range m.heldBy(0) {
		b.Writes = append(b.Writes, HeldWrite{k.owner, k.seq, m.held[k].tags, m.held[k].payload, m.held[k].unsure})
	}
	for _, w := range m.writesBy(func(w *write) bool { return w.state != waiting && w.state != unknown }) {
		b.Writes = append(b.Writes, HeldWrite{m.self.Instance, w.seq, slices.Concat(w.tags, w.further), w.payload != nil, w.unsure})
	}
	tags := 0
	for _, q := range m.quar {
		if left := q.until - now; left > 0 && !off(ruleBookQuarantines) {
			b.Quarantines = append(b.Quarantines, Quarantine{q.tags, left})
			tags += 1 + len(q.tags)
		}
	}
	if tags > maxBookTags {
		for _, q := range b.Quarantines {
			b.Cold = max(b.Cold, q.Left)
		}
		b.Quarantines = nil
	}
	return b
}

// takeBook takes over a member's book.
func (m *Machine) takeBook(now Time, b *Book) {
	if b.Cold > 0 {
		m.cold = max(m.cold, now+b.Cold)
		m.host.Cold(m.cold)
	}
	for _, q := range b.Quarantines {
		m.remember(now, q.Tags, q.Left)
		m.host.Quarantine(q.Tags, q.Left)
	}
	for _, w := range b.Writes {
		switch {
		case w.Owner == m.self.Instance:
		case m.peers[w.Owner] == nil:
			all := slices.Concat(w.Tags, w.Unsure)
			m.remember(now, all, m.cfg.Reach)
			m.host.Quarantine(all, m.cfg.Reach)
		default:
			k := heldKey{w.Owner, w.Seq}
			if m.held[k] == nil {
				m.held[k] = &held{applied: true}
			}
			m.held[k].payload = m.held[k].payload || w.Payload && !off(ruleBookPayload) // this node is empty when it serves
			m.held[k].add(w.Tags)
			if len(w.Unsure) > 0 {
				m.held[k].unsure = w.Unsure
			}
			m.host.Fence(w.Owner, w.Seq, w.Tags)
		}
	}
}
