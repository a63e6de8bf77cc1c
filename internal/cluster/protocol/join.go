package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// Obstacle returns why the node can't join its cluster, for people; "" if there is no reason.
func (m *Machine) Obstacle() string { return m.join.obstacle }

// startProbe begins an attempt to join.
func (m *Machine) startProbe(now Time) {
	if now < m.retry {
		return
	}
	m.mode = Probing
	if !off(ruleNewNumber) || m.self.Instance == 0 {
		m.self.Instance = m.host.Instance()
	}
	m.join = joining{fresh: m.join.fresh, failures: m.join.failures, obstacle: m.join.obstacle, began: now, next: now, reached: map[Instance]bool{}}
	m.readNow(now)
	m.host.Changed()
}

// repeatJoin repeats the messages of an attempt to join.
func (m *Machine) repeatJoin(now Time) {
	if now < m.join.next {
		return
	}
	m.join.next = now + m.cfg.Resend
	for _, o := range m.view.Members {
		switch {
		case o.Instance == m.self.Instance:
		case m.mode == Probing && !m.join.reached[o.Instance]:
			m.host.Send(o.Instance, &Message{Kind: Probe})
		case m.mode == Joining && !m.peers[o.Instance].gave:
			m.host.Send(o.Instance, &Message{Kind: Join, Epoch: m.view.Epoch, View: m.snapshot()})
		}
	}
}

// planJoin returns the view with this node as a joining member, once all members were
// reached. If none can be reached they are dead, or this node is cut off: it joins, so that it
// can take them out, and a member that lives takes it out first.
func (m *Machine) planJoin(now Time) (v View, due bool) {
	if m.reading || m.readAt < m.join.began {
		return v, false
	}
	missing := ""
	reached := 0
	early := now < m.join.began+m.cfg.Suspect // for an answer of a process with this node's name
	for _, o := range m.view.Members {
		switch {
		case m.join.reached[o.Instance]:
			if o.Node == m.self.Node {
				m.obstruct(fmt.Sprintf("another process is node %s of the cluster, at %s", o.Node, o.Address))
				return v, false
			}
			if why := m.disagrees(&o); why != "" {
				m.obstruct(why)
				return v, false
			}
			reached++
		case o.Node != m.self.Node:
			missing = o.Node
		case early: // later it is a former life of this node
			return v, false
		}
	}
	if missing != "" && (reached > 0 || now < m.join.began+m.cfg.Silent) {
		if now >= m.join.began+m.cfg.Silent {
			m.obstruct(fmt.Sprintf("member %s can't be reached", missing))
		}
		return v, false
	}
	if len(m.view.Members) >= maxMembers {
		m.obstruct("the cluster is full")
		return v, false
	}
	m.obstruct("")
	m.join.clean = m.view.Rev == 0 && m.fresh(now) || m.view.Rev != 0 && len(m.view.Members) == 0 && m.view.Clean
	v = m.view.clone()
	if v.Rev == 0 {
		v.Creator = m.creator()
	}
	self := m.self
	self.Joining, self.Joined = true, m.host.Wall()
	v.Members = append(v.Members, self)
	v.Away = slices.DeleteFunc(v.Away, func(a Away) bool { return a.Node == self.Node })
	v.Epoch, v.Clean = max(v.Epoch+1, uint64(m.host.Wall())), false
	return v, true
}

// creator returns the Creator of an item. It is another one each time: if the outcome of a write
// is unknown, the item may have been created, read by other nodes, and lost, and the next one
// has the same revision.
func (m *Machine) creator() Instance {
	c := m.self.Instance ^ m.created<<48
	m.created++
	return c
}

// fresh reports whether the view is that of a new table, in which no other node can have served.
// If there is no item, it may have been one that is lost: the first item of a table proves that
// only as long as a node that had joined would wait.
func (m *Machine) fresh(now Time) bool {
	return now < m.join.fresh || m.join.fresh != 0 && off(ruleFreshEnds)
}

// disagrees returns how a member's services differ from this node's, "" if they agree.
func (m *Machine) disagrees(o *Member) string {
	for _, name := range slices.Sorted(maps.Keys(m.self.Services)) {
		if theirs, ok := o.Services[name]; ok && theirs != m.self.Services[name] {
			return fmt.Sprintf("service %s has another type or origin on node %s", name, o.Node)
		}
	}
	return ""
}

// obstruct sets the obstacle.
func (m *Machine) obstruct(why string) {
	if m.join.obstacle != why {
		m.join.obstacle = why
		m.host.Changed()
	}
}

// handOver gives this node's books to a joining member whose view it has adopted.
func (m *Machine) handOver(now Time, to Instance) {
	if p := m.peers[to]; p != nil && m.member() {
		m.trace.handOver(m, to)
		m.host.Send(to, &Message{Kind: Books, Epoch: m.view.Epoch, Serving: m.join.served, Books: m.book(now)})
	}
}

// takeOver takes over the books of a member that has adopted a view with this node.
func (m *Machine) takeOver(now Time, p *peer, msg *Message) {
	if m.mode != Joining || p.gave || msg.Epoch < m.view.Epoch || msg.Books == nil {
		return
	}
	p.gave = true
	m.trace.takeOver(p.Instance)
	m.join.handed = m.join.handed || msg.Serving
	m.takeBook(now, msg.Books)
	m.change(now)
}

// planServing returns the view without this node's mark as a joining member, once all members
// have handed over their books. If none of them serves, the item may be a new one, and members
// of the lost one may serve for another Wait.
func (m *Machine) planServing(now Time) (v View, due bool) {
	if off(ruleBooks) && m.mode == Joining {
		m.join.handed = true
		v = m.view.clone()
		v.Find(m.self.Instance).Joining = false
		return v, true
	}
	if m.mode != Joining || !m.join.handed && !m.join.clean && now < m.join.serveFrom && !off(ruleNewItem) {
		return v, false
	}
	for _, p := range m.peers {
		if !p.gave {
			return v, false
		}
	}
	v = m.view.clone()
	v.Find(m.self.Instance).Joining = false
	return v, true
}

// beginServing is called when the view has this node as a serving member. The node serves
// from its next proof on.
func (m *Machine) beginServing(now Time) {
	m.mode, m.join.served = In, true
	m.join.failures = 0
	m.empty()
	if !off(ruleSettle) {
		m.host.Settle(now + m.cfg.Settle)
	}
	if !m.join.handed && !m.join.clean && !off(ruleCold) {
		m.cold = max(m.cold, now+m.cfg.Reach)
		m.host.Cold(m.cold)
	}
	m.readNow(now)
}

// Leave ends the membership. It is called when no writes are in flight. Mode is Left when the
// view does not have the node any more, or can't be changed in time.
func (m *Machine) Leave(now Time) {
	switch m.mode {
	case Out, Probing:
		m.end()
	case Joining, In:
		m.mode, m.join.leaving = Leaving, now
		m.host.Changed()
		m.change(now)
	}
}

// leaveTimeout limits how long a node waits for its own end.
const leaveTimeout = 3 * Second

// planLeave returns the view without this node, once its writes are over.
func (m *Machine) planLeave(now Time) (v View, due bool) {
	if len(m.writes) > 0 && now-m.join.leaving < leaveTimeout/2 {
		return v, false
	}
	if !off(ruleLeaving) {
		m.lease = 0
		m.host.Lease(0)
	}
	m.sendOpen() // ends the fences of writes whose Val was lost
	v = m.view.clone()
	v.remove(m.self.Instance, m.host.Wall(), "left")
	v.Epoch++
	quiet := len(m.writes)+len(m.held)+len(m.quar) == 0 && m.cold <= now
	served := m.join.served || m.join.clean
	v.Clean = len(v.Members) == 0 && (quiet || off(ruleCleanQuiet)) && (served || off(ruleCleanServed))
	return v, true
}

// end ends the machine.
func (m *Machine) end() {
	m.mode, m.lease = Left, 0
	m.host.Lease(0)
	m.abandon()
	m.host.Changed()
}
