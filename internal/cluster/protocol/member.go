package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrConflict is the error of a write of the view whose condition failed.
var ErrConflict = errors.New("the view was changed by another node")

// read reads the view, unless a read is in flight.
func (m *Machine) read(now Time) {
	if !m.reading {
		m.reading, m.again, m.readAt = true, false, now
		m.host.ReadView()
	}
}

// readNow reads the view as it is after now.
func (m *Machine) readNow(now Time) {
	m.again = m.reading
	m.read(now)
}

// Viewed reports the answer to a read of the view.
func (m *Machine) Viewed(now Time, v View, err error) {
	if !m.reading || m.mode == Left {
		return
	}
	m.reading = false
	sent := m.readAt // accept may begin another read
	if err != nil {
		m.again = false // at the next Tick that is due
		return
	}
	if off(ruleLost) && m.mode == In && v.Rev < m.view.Rev {
		v = m.view
	}
	replaced := m.view.Rev != 0 && (v.Creator != m.view.Creator || v.Rev == m.view.Rev && !v.equal(&m.view))
	if v.Rev < m.view.Rev || replaced {
		if sent > m.seen {
			// The item was deleted, or replaced by a copy from before.
			m.view = View{Epoch: m.view.Epoch}
			m.trace.read(m, &m.view)
			if m.member() {
				m.expel(now)
			}
		}
		return
	}
	m.trace.read(m, &v)
	m.accept(now, v)
	m.prove(now, sent, &v)
	m.change(now)
	if m.again {
		m.read(now)
	}
}

// prove renews the lease if a read of the view, which was sent at a time, allows that.
func (m *Machine) prove(now, sent Time, v *View) {
	self := v.Find(m.self.Instance)
	if m.mode != In || self == nil || self.Joining || v.Rev != m.view.Rev || v.IsSuspended(self.Instance) && !off(ruleSuspendedProof) {
		return
	}
	if off(ruleProofDate) {
		sent = now
	}
	had := m.Serves(now)
	m.lease = max(m.lease, sent+m.cfg.Lease)
	if m.Serves(now) {
		m.host.Lease(m.lease)
		if !had {
			m.host.Changed()
		}
		m.leased(now)
	}
}

// accept takes over a view that is newer than the known one.
func (m *Machine) accept(now Time, v View) {
	if v.Rev <= m.view.Rev || v.Creator != m.view.Creator && m.view.Rev != 0 {
		return
	}
	epoch := m.view.Epoch
	if m.view.Rev == 0 && !m.fresh(now) {
		m.join.clean = false // the item that this node has added may not be the first one
	}
	m.view, m.seen = v, now
	m.trace.adopt(m)
	if !off(ruleFreshOnce) {
		m.join.fresh = 0
	}
	self := v.Find(m.self.Instance)
	switch {
	case m.mode == Probing && self != nil:
		m.mode, m.join.next = Joining, now
		m.join.serveFrom = now + m.cfg.Wait
		m.adopt(now)
	case m.mode == Leaving && self == nil:
		m.end()
	case m.member() && self == nil:
		m.expel(now)
	case m.member() && v.Epoch != epoch:
		m.adopt(now)
	}
	if m.member() {
		m.marks(now)
	}
	if m.mode == Joining && !v.Find(m.self.Instance).Joining {
		m.beginServing(now)
	}
	m.host.Changed()
}

// adopt adopts the members of a new epoch: rounds that are not complete are repeated for the
// members that have not acknowledged, and open writes of former members go into quarantine.
func (m *Machine) adopt(now Time) {
	m.stats.Epochs++
	for _, i := range slices.Sorted(maps.Keys(m.peers)) {
		if m.view.Find(i) == nil {
			m.drop(now, m.peers[i])
		}
	}
	var added []*peer
	for _, o := range m.view.Members {
		if p := m.peers[o.Instance]; p != nil || o.Instance == m.self.Instance {
			continue
		}
		p := &peer{Member: o, since: now, heard: now, slot: slices.Index(m.slots[:], nil)}
		if m.mode == Joining && m.join.began > 0 && !m.join.reached[o.Instance] && now-m.join.began < 2*m.cfg.Silent {
			p.heard = m.join.began // it did not answer the probes either
		}
		m.peers[o.Instance], m.slots[p.slot] = p, p
		m.others |= p.bit()
		added = append(added, p)
	}
	for _, p := range added {
		m.resendTo(p)
	}
	for _, w := range m.writesBy(func(*write) bool { return true }) {
		if w.state == unknown {
			m.checkUnknown(w)
		} else {
			m.check(now, w)
		}
	}
	m.sendOpen() // shows the new epoch
}

// drop forgets a former member.
func (m *Machine) drop(now Time, p *peer) {
	delete(m.peers, p.Instance)
	m.slots[p.slot] = nil
	m.others &^= p.bit()
	for _, w := range m.writes {
		if !off(ruleFormerAcks) {
			w.acks &^= p.bit()
		}
	}
	m.dropWritesOf(now, p.Instance)
}

// marks takes over what the view has about members.
func (m *Machine) marks(now Time) {
	for _, o := range m.view.Members {
		p := m.peers[o.Instance]
		if p == nil {
			continue
		}
		p.Member = o
		switch marked := m.view.has(Suspension{m.self.Instance, o.Instance}); {
		case !marked:
			p.marked = 0
		case p.marked == 0:
			p.marked = now
		}
	}
	switch suspended := m.view.IsSuspended(m.self.Instance); {
	case !suspended && m.join.suspended != 0:
		m.join.suspended = 0
		m.readNow(now) // the lease was not renewed for a time
	case !suspended:
	case m.join.suspended == 0:
		m.join.suspended = now
	}
}

// expel ends the membership: the node was taken out, or the view is lost.
func (m *Machine) expel(now Time) {
	m.stats.Expelled++
	m.mode = Out
	if !off(ruleExpelled) {
		m.lease = 0
		m.host.Lease(0)
	}
	m.abandon()
	m.trace.expel()
	for _, k := range m.heldBy(0) {
		m.host.Release(k.owner, k.seq)
	}
	clear(m.held)
	clear(m.peers)
	m.slots, m.others = [maxMembers]*peer{}, 0
	m.quar, m.cold = nil, 0
	m.empty()
	m.fail(now)
	m.host.Changed()
}

// empty drops all that the host has stored.
func (m *Machine) empty() {
	if !off(ruleEmpty) {
		m.host.Empty()
	}
}

// fail delays the next attempt to join.
func (m *Machine) fail(now Time) {
	delay := min(m.cfg.Beat<<min(m.join.failures, 10), 50*m.cfg.Beat)
	m.join.failures++
	m.retry = now + delay
}

// change writes the view if a change of it is due.
func (m *Machine) change(now Time) {
	if m.writing || now < m.retry {
		return
	}
	var v View
	var due bool
	switch m.mode {
	case Probing:
		v, due = m.planJoin(now)
	case Joining, In:
		if v, due = m.planEvictions(now); !due {
			v, due = m.planServing(now)
		}
	case Leaving:
		v, due = m.planLeave(now)
	}
	if due {
		v.Rev = m.view.Rev + 1
		m.writing, m.pending = true, v
		m.host.WriteView(v)
	}
}

// Wrote reports the result of a write of the view: nil, ErrConflict, or another error if the
// outcome is unknown.
func (m *Machine) Wrote(now Time, err error) {
	if !m.writing || m.mode == Left {
		return
	}
	m.writing = false
	v := m.pending
	m.pending = View{}
	if err == nil {
		m.count(&v)
		if m.others != 0 {
			m.host.Send(0, &Message{Kind: Newer, Epoch: v.Epoch, View: &v})
		}
		m.accept(now, v)
	} else if !errors.Is(err, ErrConflict) {
		m.retry = max(m.retry, now+100*Millisecond)
	}
	if m.mode != Left {
		m.readNow(now)
		if err == nil {
			m.change(now)
		}
	}
}

// count counts the changes that this node has made with v.
func (m *Machine) count(v *View) {
	for _, s := range v.Suspended {
		if s.By == m.self.Instance && !m.view.has(s) {
			m.stats.Suspended++
		}
	}
	for i := range m.peers {
		if v.Find(i) == nil {
			m.stats.Evicted++
		}
	}
}

// planEvictions returns the view with the members suspended, cleared or taken out for which
// this is due.
func (m *Machine) planEvictions(now Time) (v View, due bool) {
	late := m.late(now)
	if len(late) == 0 && len(m.view.Suspended) == 0 {
		return v, false
	}
	v = m.view.clone()
	epoch := v.Epoch
	out := func(i Instance, reason string) {
		v.remove(i, m.host.Wall(), reason)
		v.Epoch, due = epoch+1, true
	}
	for _, o := range m.view.Members {
		p := m.peers[o.Instance]
		if p == nil {
			continue
		}
		own := Suspension{m.self.Instance, o.Instance}
		reason, suspect := late[o.Instance]
		switch marked := m.view.has(own); {
		case suspect && o.Joining:
			out(o.Instance, reason)
		case suspect && !marked && !m.left(o.Instance, late):
			v.Suspended, due = append(v.Suspended, own), true
		case suspect && marked && p.marked != 0 && (now >= p.marked+m.cfg.Wait || off(ruleMarkFirst)):
			out(o.Instance, reason)
		case !suspect && marked:
			v.Suspended = slices.DeleteFunc(v.Suspended, func(s Suspension) bool { return s == own })
			due = true
		case !suspect && o.Joining && m.blocks(o.Instance, late):
			out(o.Instance, "it can't reach a member that others reach")
		}
	}
	return v, due
}

// left reports whether the eviction of i can be left to another member, which has suspended it.
func (m *Machine) left(i Instance, late map[Instance]string) bool {
	return slices.ContainsFunc(m.view.Suspended, func(s Suspension) bool {
		_, suspect := late[s.By]
		p := m.peers[s.By]
		return s.Of == i && p != nil && !p.Joining && !suspect
	})
}

// blocks reports whether joiner has suspended a member that this node is in contact with.
func (m *Machine) blocks(joiner Instance, late map[Instance]string) bool {
	return slices.ContainsFunc(m.view.Suspended, func(s Suspension) bool {
		_, suspect := late[s.Of]
		return s.By == joiner && !suspect && (s.Of == m.self.Instance || m.peers[s.Of] != nil)
	})
}

// late returns the members that do not answer, with the reason. A node that misses more than
// half of the others may itself be the one that is cut off, so it leaves the first move to
// them, and if it is suspended also the next one: it withdraws its own marks until they have
// had the time to take it out. A suspended node that misses fewer continues only with members
// that it has suspended already.
func (m *Machine) late(now Time) map[Instance]string {
	late := m.lateBy(now, 0)
	misses := 2*len(late) > len(m.peers) && len(m.peers) > 1
	switch s := m.join.suspended; {
	case s != 0 && now < s+2*m.cfg.Wait:
		maps.DeleteFunc(late, func(i Instance, _ string) bool {
			return misses || !m.view.has(Suspension{m.self.Instance, i})
		})
	case misses:
		late = m.lateBy(now, m.cfg.Silent*3/10)
	}
	return late
}

// lateBy returns the members that have not answered for longer than the limits and extra.
func (m *Machine) lateBy(now, extra Time) map[Instance]string {
	var late map[Instance]string
	since := m.oldest(now)
	for p := range m.members(m.others) {
		var reason string
		switch {
		case p.evict:
			reason = "evicted by an operator"
		case now-since[p.slot] > m.cfg.Suspect+extra:
			reason = "it did not acknowledge a write"
		case now-p.heard > m.cfg.Silent+extra:
			reason = "it was silent"
		default:
			continue
		}
		if late == nil {
			late = map[Instance]string{}
		}
		late[p.Instance] = reason
	}
	return late
}

// Evict begins to take a member out at an operator's request, and returns its instance. A node
// that has started again, before its former process was taken out, is two members: Evict takes
// the first one, which has ended.
func (m *Machine) Evict(now Time, node string) (Instance, error) {
	for _, o := range m.view.Members {
		if p := m.peers[o.Instance]; p != nil && p.Node == node {
			p.evict = true
			m.change(now)
			return o.Instance, nil
		}
	}
	if node == m.self.Node {
		return 0, fmt.Errorf("%s is this node; stop it instead", node)
	}
	return 0, fmt.Errorf("the cluster has no member %s", node)
}
