package follow

import "time"

// step is an earlier newest revision of a document, kept while a node lacks it.
type step struct {
	rev    string
	number uint64 // like change.number
	at     int64  // when it was recorded
	lacks  NodeSet
}

// maxSteps is the maximum number of steps of a document that is written faster than it is
// replicated.
const maxSteps = 16

// lack is the oldest revision that a node lacks, as of the last search. The zero value means
// that a search is needed.
type lack struct {
	change *change
	number uint64
	at     int64 // when it was recorded
}

// mark is a point in the sequence of recorded changes.
type mark struct{ changes, epoch uint64 }

// mark returns the present mark, for covers.
func (t *tracker) mark() mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	if in := t.all &^ t.out; t.synced() != in {
		return mark{epoch: noEpoch} // not all changes are recorded yet
	}
	return mark{t.changes, t.epoch}
}

// noEpoch is an epoch that never occurs.
const noEpoch = 1<<64 - 1

// covers returns the nodes that have every change recorded before the mark. Their answers
// may be cached like those of current nodes if the tags were read before the mark: later
// changes have moved the tags. Without marks no node might ever be current while a database
// is written to continuously. If a node became unsynced since then, covers returns no node,
// since a comparison may find changes from before the mark.
func (t *tracker) covers(mark mark) NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch != mark.epoch {
		return 0
	}
	return t.withoutOld(func(l *lack) bool { return l.number <= mark.changes })
}

// within returns the nodes that lack no change for longer than maxLag.
func (t *tracker) within(maxLag time.Duration, now int64) NodeSet {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.withoutOld(func(l *lack) bool { return now-l.at > int64(maxLag) })
}

// withoutOld returns the synced nodes whose oldest missing revision is not old.
func (t *tracker) withoutOld(old func(*lack) bool) NodeSet {
	nodes := t.synced()
	nodes.forEach(func(node int) {
		if t.lacks[node] > 0 && old(t.oldestOf(node)) {
			nodes = nodes.without(node)
		}
	})
	return nodes
}

// oldestOf returns the oldest revision that node lacks. It searches all open changes only if
// node has got the previous result since.
func (t *tracker) oldestOf(node int) *lack {
	o := &t.oldest[node]
	if o.change != nil && !o.change.closed && o.change.lackedBy(node) == *o {
		return o
	}
	*o = lack{}
	for _, c := range t.open {
		if l := c.lackedBy(node); l.number != 0 && (o.number == 0 || l.number < o.number) {
			*o = l
		}
	}
	return o
}

// lackedBy returns the oldest revision of the document that node lacks; zero if it lacks
// none.
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

// reached records that node has the revision and all earlier ones.
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

// pendingSteps returns the steps of the change that replaces c: the steps of c and c itself,
// as far as some node lacks them. If there are too many, the two oldest are merged, as if a
// node that lacks the later one lacked both.
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
