package follow

import "time"

// Current returns the nodes whose answers may be kept: those that lack nothing of
// what the answer could depend on. id is the document that is read, nil for what
// is computed from any documents. It is asked after the tags were noted and
// before the node is.
//
// If no node is current, an answer is good for whoever asked, and no longer.
func (d *Tracker) Current(id []byte) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.compared()
	if id != nil {
		if c := d.open[string(id)]; c != nil {
			in &= c.has
		}
		return in
	}
	current := in
	in.each(func(node int) {
		if d.lacks[node] > 0 {
			current = current.without(node)
		}
	})
	return current
}

// Likely returns the nodes that are not out and have the document's newest revision, as
// far as anybody knows: those to be read from, and to be written to, where none is
// current. A node that was out counts last until it was compared: what it announces may
// be older than what the others had forgotten by then. What it has stored for Kasoku is
// not; it counts even while the node is out, if it has stored something since.
func (d *Tracker) Likely(id []byte) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, c := d.all&^d.out, d.open[string(id)]
	if c == nil {
		c = &change{}
	}
	sure := in &^ d.behind
	for _, likely := range [...]NodeSet{(sure | c.wrote) & (in | d.late) & c.has, sure, in & c.has} {
		if likely != 0 {
			return likely
		}
	}
	return in
}

// compared are the nodes of which it is known what they lack.
func (d *Tracker) compared() NodeSet {
	in := d.all &^ d.out
	if in.Len() > 1 {
		in &^= d.adrift
	}
	return in
}

// In returns the nodes that are not out.
func (d *Tracker) In() NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all &^ d.out
}

// Reached returns the nodes that can be reached: those that are not out, and those that
// have stored something for Kasoku since they are, of which nothing is heard yet.
func (d *Tracker) Reached() NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all&^d.out | d.late
}

// Reset takes note that what node has announced until now is not all that has
// changed there. All that was read of the database is given up, and all nodes are
// adrift: the others may lack what was not announced. gone is true if the database
// on it is not the one that it was.
func (d *Tracker) Reset(node int, gone bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cfg.Move(nil)
	d.drift(d.all)
	for id, c := range d.open {
		// Whatever changed before is not announced any more.
		c.told = c.told.with(node)
		if gone && c.has.Has(node) {
			d.loses(c, node)
		}
		if c.has == 0 {
			d.drop(id, c) // nobody has it any more, and nobody will get it
			continue
		}
		d.close(id, c)
	}
}

// Out takes a node out: it can't be reached, so that nothing is read from it.
// What others write to it is seen when it is back, or when it has reached a node
// that is not out.
func (d *Tracker) Out(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out, d.late = d.out.with(node), d.late.without(node)
	for id, c := range d.open {
		d.close(id, c)
	}
	d.follow()
}

// Back takes a node in again. All that was read of the database is given up, and all
// nodes are adrift: nobody has waited for the others to get what it has.
func (d *Tracker) Back(node int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.out.Has(node) {
		return
	}
	d.cfg.Move(nil)
	d.out, d.behind, d.late = d.out.without(node), d.behind.with(node), d.late.without(node)
	d.drift(d.all)
	d.follow()
}

// Adrift returns the nodes that have to be compared with the others, and a mark
// for Compared.
//
// To compare, whoever keeps the connections asks each node that is in for its
// newest changes, and every other node, by _revs_diff, which of them it lacks;
// calls Missing for each; and then Compared for the nodes that lacked only some.
// What changes meanwhile comes by the feeds and is waited for already.
func (d *Tracker) Adrift() (nodes NodeSet, mark uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in := d.all &^ d.out; in.Len() > 1 {
		nodes = d.adrift & in
	}
	return nodes, d.drifts
}

// Missing takes note that node lacks a revision that another node has.
func (d *Tracker) Missing(node int, id, rev []byte, now int64) {
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
	if c.rev == string(rev) && c.taken.Has(node) {
		c.told, c.taken = c.told.without(node), c.taken.without(node)
		d.loses(c, node)
	}
}

// presume opens a change that all nodes are taken to have until they are said to
// lack it. It moves the tags, since the row that announces it will not: the change
// is open by then. It returns nil if there is no room.
func (d *Tracker) presume(id, rev []byte, now int64) *change {
	d.cfg.Move(id)
	if d.open[string(id)] == nil && len(d.open) >= d.cfg.Open {
		d.overflow()
		return nil
	}
	return d.begin(id, &change{rev: string(rev), at: now, has: d.all, told: d.all, taken: d.all})
}

// Compared takes note that it is known what the nodes lack, unless they have gone
// adrift again since Adrift gave the mark.
func (d *Tracker) Compared(nodes NodeSet, mark uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	nodes.each(func(n int) {
		if d.since[n] <= mark {
			d.adrift, d.behind = d.adrift.without(n), d.behind.without(n)
		}
	})
}

// Revision is a change of which it is not known whether a node has it.
type Revision struct {
	ID, Rev string
}

// Doubts returns up to most changes that node should have announced by now. The
// same ones are returned again after as long as it took the first time.
func (d *Tracker) Doubts(node int, now int64, most int) (doubts []Revision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lacks[node] == 0 || d.out.Has(node) {
		return nil
	}
	for id, c := range d.open {
		if len(doubts) == most {
			break
		}
		if !c.has.Has(node) && now-c.at >= int64(d.cfg.Doubt) {
			c.asked = c.asked.with(node)
			doubts = append(doubts, Revision{id, c.rev})
		}
	}
	return doubts
}

// Found takes note that node has the revision, although it did not announce it.
func (d *Tracker) Found(node int, doubt Revision, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.open[doubt.ID]
	if c == nil || c.rev != doubt.Rev {
		return
	}
	d.gets(c, node, now)
	c.told = c.told.with(node)
	d.close(doubt.ID, c)
}

// late is how long a change is kept that all nodes have and some did not announce.
const late = 10 * time.Second

// Sweep forgets changes that all nodes have had for a while, and those that a node
// which was asked does not get. It is to be called every few seconds.
func (d *Tracker) Sweep(now int64) (forsaken int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, c := range d.open {
		age := time.Duration(now - c.at)
		lacking := d.all &^ d.out &^ c.has
		switch {
		case lacking == 0 && age > late:
			d.drop(id, c)
		case lacking != 0 && lacking&^c.asked == 0 && age > d.cfg.Patience:
			d.cfg.Move([]byte(id))
			d.drop(id, c)
			forsaken++
		}
	}
	return forsaken
}

// ReplicaState is what is known of a node.
type ReplicaState struct {
	Out, Adrift bool
	Lacks       int           // changes that others have and it has not
	Lag         time.Duration // for how long the oldest of them has been known
	Quiet       time.Duration // since it was heard of; negative if never
}

// ReplicaState returns what is known of a node at that time. It looks at every open
// change: it is meant for reports.
func (d *Tracker) Standing(node int, now int64) ReplicaState {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := ReplicaState{Out: d.out.Has(node), Adrift: d.adrift.Has(node), Lacks: d.lacks[node], Quiet: -1}
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
