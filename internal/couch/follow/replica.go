package follow

import "time"

// current returns the nodes whose answers may be cached, since they lack nothing that the
// answer may depend on. id is the document that is read; nil for a result computed from
// several documents. Read the tags before the call, and send the request after it.
//
// If no node is current, an answer is valid for its own client only, and must not be cached.
func (t *tracker) current(id []byte) NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := t.synced()
	if id != nil {
		if c := t.open[string(id)]; c != nil {
			in &= c.has
		}
		return in
	}
	current := in
	in.forEach(func(node int) {
		if t.lacks[node] > 0 {
			current = current.without(node)
		}
	})
	return current
}

// likely returns the nodes to read from and to write to if no node is current: those that
// are not out and probably have the document's newest revision. A node that has rejoined is
// a last resort until it is compared, since its announcements may be older than changes that
// the tracker has already dropped. A revision that the node stored for Kasoku counts in any
// case, even while the node is out, provided that the write is newer than the failure.
func (t *tracker) likely(id []byte) NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	in, c := t.all&^t.out, t.open[string(id)]
	if c == nil {
		c = &change{}
	}
	sure := in &^ t.rejoined
	for _, likely := range [...]NodeSet{(sure | c.stored) & (in | t.wroteWhileOut) & c.has, sure, in & c.has} {
		if likely != 0 {
			return likely
		}
	}
	return in
}

// synced returns the nodes whose missing changes are all recorded.
func (t *tracker) synced() NodeSet {
	in := t.all &^ t.out
	if in.Len() > 1 {
		in &^= t.unsynced
	}
	return in
}

// behind returns the time since the feeds of all nodes were complete. ok is false if a node is
// out, because changes may be missing that another process has got from it.
func (t *tracker) behind(now int64) (d time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != 0 {
		return 0, false
	}
	oldest := now
	t.all.forEach(func(node int) { oldest = min(oldest, t.heard[node]) })
	if oldest == never {
		return 0, false
	}
	return time.Duration(now - oldest), true
}

// present returns the nodes that are not out.
func (t *tracker) present() NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all &^ t.out
}

// reachable returns the nodes that are not out, and those that have stored a write for
// Kasoku since they were taken out, although their feeds are still silent.
func (t *tracker) reachable() NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all&^t.out | t.wroteWhileOut
}

// resetNode records that node may have announced its changes incompletely. It moves the
// database's tag, and all nodes become unsynced, since the others may lack unannounced
// changes. Except for Opened, node may also have lost changes: it has no database of that
// name any more, or may have another one.
//
// A node that is out may have the same database as before, whatever its feed looks like. Its
// changes remain open until it rejoins, unless its database was deleted. Otherwise the other
// nodes would be current without them.
func (t *tracker) resetNode(node int, why ResetReason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cfg.Invalidate(nil)
	t.unsync(t.all)
	lost := why == Deleted || why != Opened && !t.out.Has(node)
	if why != Opened && !lost {
		t.replacedWhileOut = t.replacedWhileOut.with(node)
	}
	for id, c := range t.open {
		// Earlier changes are not announced any more.
		c.announced = c.announced.with(node)
		if why != Opened && c.has.Has(node) {
			t.markLacks(c, node)
		}
		if lost && t.removeLost(id, c, node) {
			continue
		}
		t.closeIfDone(id, c)
	}
}

// removeLost records that node has lost the change. It drops the change if no node may have
// it, since no node will get it then, and reports whether it did.
func (t *tracker) removeLost(id string, c *change, node int) bool {
	if c.mayHave = c.mayHave.without(node); c.mayHave == 0 {
		t.remove(id, c)
	}
	return c.closed
}

// markOut takes an unreachable node out: nothing is read from it. Writes of other clients to
// it become visible when it rejoins, or when they are replicated to a node that is not out.
func (t *tracker) markOut(node int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out, t.wroteWhileOut = t.out.with(node), t.wroteWhileOut.without(node)
	for id, c := range t.open {
		t.closeIfDone(id, c)
	}
	t.updateServable()
}

// rejoin takes a node in again. It moves the database's tag, and all nodes become unsynced,
// since the tracker has dropped changes without waiting for this node.
func (t *tracker) rejoin(node int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.out.Has(node) {
		return
	}
	t.cfg.Invalidate(nil)
	t.out, t.rejoined, t.wroteWhileOut = t.out.without(node), t.rejoined.with(node), t.wroteWhileOut.without(node)
	if t.replacedWhileOut.Has(node) {
		t.replacedWhileOut = t.replacedWhileOut.without(node)
		for id, c := range t.open {
			if !c.has.Has(node) {
				t.removeLost(id, c, node)
			}
		}
	}
	t.unsync(t.all)
	t.updateServable()
}

// unsyncedNodes returns the nodes that must be compared with the others, and an epoch for
// markSynced.
//
// For a comparison, the caller requests the newest changes of each present node and asks
// every other node with _revs_diff which of them it lacks. It calls markMissing for each
// missing revision, and then markSynced for the nodes that lacked only some. The feeds
// announce changes during the comparison.
func (t *tracker) unsyncedNodes() (nodes NodeSet, epoch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if in := t.all &^ t.out; in.Len() > 1 {
		nodes = t.unsynced & in
	}
	return nodes, t.epoch
}

// markMissing records that node lacks a revision that another node has.
func (t *tracker) markMissing(node int, id, rev []byte, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[string(id)]
	if c == nil || c.rev != string(rev) && newer(string(rev), []byte(c.rev)) {
		if c = t.presume(id, rev, now); c == nil {
			return
		}
	}
	// A node that has announced the revision itself got it after the query. A newer revision
	// is awaited already.
	if c.rev == string(rev) && c.presumed.Has(node) {
		c.announced, c.presumed = c.announced.without(node), c.presumed.without(node)
		c.mayHave = c.mayHave.without(node)
		t.markLacks(c, node)
	}
}

// presume opens a change that all nodes are presumed to have until they are found to lack
// it. It moves the tags, since the row that announces the change will find it open and
// won't. It returns nil if there is no room.
func (t *tracker) presume(id, rev []byte, now int64) *change {
	t.cfg.Invalidate(id)
	if t.open[string(id)] == nil && len(t.open) >= t.cfg.MaxOpen {
		t.overflow()
		return nil
	}
	return t.openChange(id, &change{rev: string(rev), at: now, has: t.all, announced: t.all, presumed: t.all})
}

// markSynced records that all changes are recorded that the nodes lack, except for nodes
// that became unsynced again since unsyncedNodes returned the epoch.
func (t *tracker) markSynced(nodes NodeSet, epoch uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	nodes.forEach(func(n int) {
		if t.unsyncedAt[n] <= epoch {
			t.unsynced, t.rejoined = t.unsynced.without(n), t.rejoined.without(n)
		}
	})
}

// revision is a revision of a document that a node may lack.
type revision struct {
	ID, Rev string
}

// overdue returns up to limit changes that node should have announced by now. Changes remain
// overdue until the node announces or confirms them.
func (t *tracker) overdue(node int, now int64, limit int) (revs []revision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lacks[node] == 0 || t.out.Has(node) {
		return nil
	}
	for id, c := range t.open {
		if len(revs) == limit {
			break
		}
		if !c.has.Has(node) && now-c.at >= int64(t.cfg.AnnounceTimeout) {
			c.queried = c.queried.with(node)
			revs = append(revs, revision{id, c.rev})
		}
	}
	return revs
}

// confirm records that node has the revision, although it did not announce it.
func (t *tracker) confirm(node int, rev revision, now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.open[rev.ID]
	if c == nil || c.rev != rev.Rev {
		return
	}
	t.markHas(c, node, now)
	c.announced = c.announced.with(node)
	t.closeIfDone(rev.ID, c)
}

// closeAfter is how long a change is kept that all nodes have and some did not announce.
const closeAfter = 10 * time.Second

// sweep drops changes that all nodes have had for a while, and returns the number of changes
// it dropped because a queried node never got them. Call it every few seconds.
func (t *tracker) sweep(now int64) (abandoned int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, c := range t.open {
		age := time.Duration(now - c.at)
		lacking := t.all &^ t.out &^ c.has
		switch {
		case lacking == 0 && age > closeAfter:
			t.remove(id, c)
		case lacking != 0 && lacking&^c.queried == 0 && age > t.cfg.GiveUpAfter:
			t.cfg.Invalidate([]byte(id))
			t.remove(id, c)
			abandoned++
		}
	}
	return abandoned
}

// ReplicaState is the state of a database on one node.
type ReplicaState struct {
	Out, Unsynced bool
	Lacks         int           // the number of changes that others have and this node lacks
	Lag           time.Duration // the time since the oldest of them was recorded
	Quiet         time.Duration // the time since the node was heard from; negative if never
}

// replicaState returns the state of node at that time. It iterates over all open changes,
// and is meant for reports.
func (t *tracker) replicaState(node int, now int64) ReplicaState {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := ReplicaState{Out: t.out.Has(node), Unsynced: t.unsynced.Has(node), Lacks: t.lacks[node], Quiet: -1}
	if t.heard[node] != never {
		s.Quiet = time.Duration(now - t.heard[node])
	}
	for _, c := range t.open {
		if !c.has.Has(node) {
			s.Lag = max(s.Lag, time.Duration(now-c.at))
		}
	}
	return s
}
