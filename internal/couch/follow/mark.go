package follow

import "time"

// step is a revision that was the newest one known of a document before another was,
// for as long as a node lacks it.
type step struct {
	rev    string
	number uint64 // as that of a change
	at     int64  // when it became known
	lacks  NodeSet
}

// maxSteps is how many revisions are told apart of a document that is written faster
// than it is replicated.
const maxSteps = 16

// lack is the oldest thing that a node lacks, as it was when it was looked for; the
// zero value if it has to be looked for.
type lack struct {
	change *change
	number uint64
	at     int64 // since when it has been known
}

// notePositions stands for all that was known at a time.
type mark struct{ changes, epoch uint64 }

// notePositions returns the present mark, for Covers.
func (d *tracker) mark() mark {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in := d.all &^ d.out; d.synced() != in {
		return mark{epoch: noEpoch} // what is known is not all yet
	}
	return mark{d.changes, d.epoch}
}

// noEpoch is the number of no drift.
const noEpoch = 1<<64 - 1

// covers returns the nodes that lack nothing of what was known when Mark returned the
// mark. Their answers may be kept as those of Current, if the tags were noted before
// Mark was called: whatever has become known since then has moved them. While a
// database is written to without a pause, no node may ever be current. If a node has gone
// adrift since then there are none: a comparison finds again what was known before.
func (d *tracker) covers(mark mark) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.epoch != mark.epoch {
		return 0
	}
	return d.withoutOld(func(l *lack) bool { return l.number <= mark.changes })
}

// within returns the nodes that lack nothing that has been known for longer than most.
func (d *tracker) within(most time.Duration, now int64) NodeSet {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.withoutOld(func(l *lack) bool { return now-l.at > int64(most) })
}

// withoutOld returns the nodes of which it is known what they lack, but for those where
// the oldest of that is too old.
func (d *tracker) withoutOld(old func(*lack) bool) NodeSet {
	nodes := d.synced()
	nodes.forEach(func(node int) {
		if d.lacks[node] > 0 && old(d.oldestOf(node)) {
			nodes = nodes.without(node)
		}
	})
	return nodes
}

// oldestOf is the oldest thing that node lacks. It looks at every open change, but only
// if node has got what was found the last time.
func (d *tracker) oldestOf(node int) *lack {
	o := &d.oldest[node]
	if o.change != nil && !o.change.closed && o.change.lackedBy(node) == *o {
		return o
	}
	*o = lack{}
	for _, c := range d.open {
		if l := c.lackedBy(node); l.number != 0 && (o.number == 0 || l.number < o.number) {
			*o = l
		}
	}
	return o
}

// lackedBy is the oldest revision of the document that node lacks; the zero value if it
// lacks none.
func (c *change) lackedBy(node int) lack {
	if c.has.Has(node) {
		return lack{}
	}
	for i := range c.steps {
		if s := &c.steps[i]; s.lacks.Has(node) {
			return lack{c, s.number, s.at}
		}
	}
	return lack{c, c.number, c.at}
}

// reached takes note that node has got as far as that revision.
func (c *change) reached(node int, rev []byte) {
	for i := range c.steps {
		if c.steps[i].rev != string(rev) {
			continue
		}
		for j := range c.steps[:i+1] {
			c.steps[j].lacks = c.steps[j].lacks.without(node)
		}
	}
}

// pendingSteps returns the steps of the change that takes the place of c: what is before c,
// and c itself, as far as nodes lack it. Too many are taken together, as if whoever
// lacks the later lacked the earlier.
func (c *change) pendingSteps(all NodeSet) (steps []step) {
	for _, s := range append(c.steps, step{c.rev, c.number, c.at, all}) {
		if s.lacks &^= c.has; s.lacks != 0 {
			steps = append(steps, s)
		}
	}
	if len(steps) > maxSteps {
		steps[1].number, steps[1].at = steps[0].number, steps[0].at
		steps[1].lacks |= steps[0].lacks
		steps = steps[1:]
	}
	return steps
}
