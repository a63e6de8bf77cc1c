package follow

import "time"

// current returns the nodes whose answers may be kept: those that lack nothing of
// what the answer could depend on. id is the document that is read, nil for what
// is computed from any documents. It is asked after the tags were noted and
// before the node is.
//
// If no node is current, an answer is good for whoever asked, and no longer.
func (d *tracker) current(id []byte) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.synced()
	if id != nil {
		if c := d.open[string(id)]; c != nil {
			in &= c.has
		}
		return in
	}
	current := in
	in.forEach(func(node int) {
		if d.lacks[node] > 0 {
			current = current.without(node)
		}
	})
	return current
}

// likely returns the nodes that are not out and have the document's newest revision, as
// far as anybody knows: those to be read from, and to be written to, where none is
// current. A node that was out counts last until it was compared: what it announces may
// be older than what the others had forgotten by then. What it has stored for Kasoku is
// not; it counts even while the node is out, if it has stored something since.
func (d *tracker) likely(id []byte) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, c := d.all&^d.out, d.open[string(id)]
	if c == nil {
		c = &change{}
	}
	sure := in &^ d.rejoined
	for _, likely := range [...]NodeSet{(sure | c.stored) & (in | d.wroteWhileOut) & c.has, sure, in & c.has} {
		if likely != 0 {
			return likely
		}
	}
	return in
}

// synced are the nodes of which it is known what they lack.
func (d *tracker) synced() NodeSet {
	in := d.all &^ d.out
	if in.Len() > 1 {
		in &^= d.unsynced
	}
	return in
}

// presentNodes returns the nodes that are not out.
func (d *tracker) present() NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all &^ d.out
}

// reachable returns the nodes that can be reached: those that are not out, and those that
// have stored something for Kasoku since they are, of which nothing is heard yet.
func (d *tracker) reachable() NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all&^d.out | d.wroteWhileOut
}

// resetNode takes note that what node has announced until now is not all that has
// changed there. All that was read of the database is given up, and all nodes are
// adrift: the others may lack what was not announced. gone is true if the database
// on it is not the one that it was.
func (d *tracker) resetNode(node int, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Invalidate(nil)
	d.unsync(d.all)
	for id, c := range d.open {
		// Whatever changed before is not announced any more.
		c.announced = c.announced.with(node)
		if gone && c.has.Has(node) {
			d.markLacks(c, node)
		}
		if c.has == 0 {
			d.remove(id, c) // nobody has it any more, and nobody will get it
			continue
		}
		d.closeIfDone(id, c)
	}
}

// markOut takes a node out: it can't be reached, so that nothing is read from it.
// What others write to it is seen when it is back, or when it has reached a node
// that is not out.
func (d *tracker) markOut(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out, d.wroteWhileOut = d.out.with(node), d.wroteWhileOut.without(node)
	for id, c := range d.open {
		d.closeIfDone(id, c)
	}
	d.updateServable()
}

// rejoin takes a node in again. All that was read of the database is given up, and all
// nodes are adrift: nobody has waited for the others to get what it has.
func (d *tracker) rejoin(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.out.Has(node) {
		return
	}
	d.cfg.Invalidate(nil)
	d.out, d.rejoined, d.wroteWhileOut = d.out.without(node), d.rejoined.with(node), d.wroteWhileOut.without(node)
	d.unsync(d.all)
	d.updateServable()
}

// unsyncedNodes returns the nodes that have to be compared with the others, and a mark
// for Compared.
//
// To compare, whoever keeps the connections asks each node that is in for its
// newest changes, and every other node, by _revs_diff, which of them it lacks;
// calls Missing for each; and then Compared for the nodes that lacked only some.
// What changes meanwhile comes by the feeds and is waited for already.
func (d *tracker) unsyncedNodes() (nodes NodeSet, mark uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in := d.all &^ d.out; in.Len() > 1 {
		nodes = d.unsynced & in
	}
	return nodes, d.epoch
}

// markMissing takes note that node lacks a revision that another node has.
func (d *tracker) markMissing(node int, id, rev []byte, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[string(id)]
	if c == nil || c.rev != string(rev) && newer(string(rev), []byte(c.rev)) {
		if c = d.presume(id, rev, now); c == nil {
			return
		}
	}
	// A node that has said itself that it has the revision got it after it was
	// asked; and a newer revision is waited for already.
	if c.rev == string(rev) && c.presumed.Has(node) {
		c.announced, c.presumed = c.announced.without(node), c.presumed.without(node)
		d.markLacks(c, node)
	}
}

// presume opens a change that all nodes are taken to have until they are said to
// lack it. It moves the tags, since the row that announces it will not: the change
// is open by then. It returns nil if there is no room.
func (d *tracker) presume(id, rev []byte, now int64) *change {
	d.cfg.Invalidate(id)
	if d.open[string(id)] == nil && len(d.open) >= d.cfg.MaxOpen {
		d.overflow()
		return nil
	}
	return d.openChange(id, &change{rev: string(rev), at: now, has: d.all, announced: d.all, presumed: d.all})
}

// markSynced takes note that it is known what the nodes lack, unless they have gone
// adrift again since Adrift gave the mark.
func (d *tracker) markSynced(nodes NodeSet, mark uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nodes.forEach(func(n int) {
		if d.unsyncedAt[n] <= mark {
			d.unsynced, d.rejoined = d.unsynced.without(n), d.rejoined.without(n)
		}
	})
}

// revision is a change of which it is not known whether a node has it.
type revision struct {
	ID, Rev string
}

// overdue returns up to most changes that node should have announced by now. The
// same ones are returned again after as long as it took the first time.
func (d *tracker) overdue(node int, now int64, most int) (doubts []revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lacks[node] == 0 || d.out.Has(node) {
		return nil
	}
	for id, c := range d.open {
		if len(doubts) == most {
			break
		}
		if !c.has.Has(node) && now-c.at >= int64(d.cfg.AnnounceTimeout) {
			c.queried = c.queried.with(node)
			doubts = append(doubts, revision{id, c.rev})
		}
	}
	return doubts
}

// confirm takes note that node has the revision, although it did not announce it.
func (d *tracker) confirm(node int, doubt revision, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[doubt.ID]
	if c == nil || c.rev != doubt.Rev {
		return
	}
	d.markHas(c, node, now)
	c.announced = c.announced.with(node)
	d.closeIfDone(doubt.ID, c)
}

// wroteWhileOut is how long a change is kept that all nodes have and some did not announce.
const closeAfter = 10 * time.Second

// sweep forgets changes that all nodes have had for a while, and those that a node
// which was asked does not get. It is to be called every few seconds.
func (d *tracker) sweep(now int64) (forsaken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, c := range d.open {
		age := time.Duration(now - c.at)
		lacking := d.all &^ d.out &^ c.has
		switch {
		case lacking == 0 && age > closeAfter:
			d.remove(id, c)
		case lacking != 0 && lacking&^c.queried == 0 && age > d.cfg.GiveUpAfter:
			d.cfg.Invalidate([]byte(id))
			d.remove(id, c)
			forsaken++
		}
	}
	return forsaken
}

// ReplicaState is what is known of a node.
type ReplicaState struct {
	Out, Unsynced bool
	Lacks         int           // changes that others have and it has not
	Lag           time.Duration // for how long the oldest of them has been known
	Quiet         time.Duration // since it was heard of; negative if never
}

// ReplicaState returns what is known of a node at that time. It looks at every open
// change: it is meant for reports.
func (d *tracker) replicaState(node int, now int64) ReplicaState {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := ReplicaState{Out: d.out.Has(node), Unsynced: d.unsynced.Has(node), Lacks: d.lacks[node], Quiet: -1}
	if d.heard[node] != never {
		s.Quiet = time.Duration(now - d.heard[node])
	}
	for _, c := range d.open {
		if !c.has.Has(node) {
			s.Lag = max(s.Lag, time.Duration(now-c.at))
		}
	}
	return s
}
