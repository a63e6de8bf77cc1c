package cache

import (
	"cmp"
	"slices"
	"time"
)

// Cause is the origin of a Change.
type Cause uint8

// The causes of a Change.
const (
	ByWrite   Cause = iota // a client's write
	ByUnknown              // a client's write with an unknown outcome
	ByTable                // a table or database was changed or dropped
	ByPurge                // an operator
	ByExpiry               // the origin removed an expired item and reported it
	ByFeed                 // the origin's feed of changes reported it, or could not be followed
	causes
)

var causeNames = [causes]string{"write", "unknown-outcome", "table", "purge", "expiry", "feed"}

func (c Cause) String() string { return causeNames[c] }

// Change is the effect of a write, whatever its cause: the tags that moved and the entries
// whose new value is known.
type Change struct {
	Cause Cause
	Tags  []Tag
	Puts  []Put
}

// Put is an entry whose value is known from a write: the answer that a read would now
// return.
type Put struct {
	Space   *Space
	Key     []byte
	Tags    []Tag
	Filling Filling
}

// Apply invalidates everything that depends on the Change's tags. When it has returned, no
// look-up finds and no fill stores what was read before. Apply stores none of the Change's
// Puts and only moves their tags: without the fence of a Write it can't be determined
// whether another write overlapped.
func (c *Cache) Apply(ch Change) {
	floor := generationAt(c.Now())
	for _, t := range ch.Tags {
		c.slots[c.index(t)].bump(floor)
	}
	for i := range ch.Puts {
		for _, t := range ch.Puts[i].Tags {
			c.slots[c.index(t)].bump(floor)
		}
	}
	c.stats.applied[ch.Cause].Add(1)
	c.stats.bumped.Add(uint64(len(ch.Tags)))
}

// Write is a write in flight. It must end with Commit or Unknown: until then nothing is
// stored under its tags. Only the first of these calls has an effect, so `defer w.Unknown()`
// guards a write against panics and forgotten branches. It is used by one goroutine.
type Write struct {
	cache *Cache
	marks []mark // sorted by slot, one per slot
	ended bool
}

// mark is the state of one slot for a Write.
type mark struct {
	slot    uint32
	gen     uint64 // as set by Begin, then by release
	writing bool   // moved by this write; otherwise only watched
	alone   bool   // no other write of the slot overlaps, in flight or in quarantine
}

// Begin declares a write of tags, before it is sent to the origin. watch are tags that the
// write does not move but that its Puts depend on.
func (c *Cache) Begin(tags, watch []Tag) *Write {
	w := &Write{cache: c, marks: make([]mark, 0, len(tags)+len(watch))}
	for _, t := range tags {
		w.marks = append(w.marks, mark{slot: c.index(t), writing: true})
	}
	for _, t := range watch {
		w.marks = append(w.marks, mark{slot: c.index(t)})
	}
	slices.SortFunc(w.marks, func(a, b mark) int {
		switch {
		case a.slot != b.slot:
			return cmp.Compare(a.slot, b.slot)
		case a.writing == b.writing:
			return 0
		case a.writing:
			return -1
		}
		return 1
	})
	w.marks = slices.CompactFunc(w.marks, func(a, b mark) bool { return a.slot == b.slot })
	floor := generationAt(c.Now())
	for i := range w.marks {
		m := &w.marks[i]
		s := &c.slots[m.slot]
		if m.writing {
			s.writers.Add(1)
			m.gen = s.bump(floor)
			m.alone = true // until release finds otherwise
		} else {
			m.gen = s.gen.Load() // before writers: see slot
			m.alone = s.writers.Load() == 0
		}
		// In quarantine an older write may still be applied after this one, even if the
		// quarantine is over when this one ends.
		m.alone = m.alone && !ahead(m.gen, floor)
	}
	return w
}

// Commit ends a write with a known outcome. It moves the tags of the write and of ch, which
// may be known only from the origin's answer, then stores each of ch's Puts if no other
// write of its tags overlapped. It returns the number of stored Puts.
func (w *Write) Commit(ch Change) int {
	if w.ended {
		return 0
	}
	w.end(ch.Tags, ch.Cause, generationAt(w.cache.Now()))
	stored := 0
	for i := range ch.Puts {
		if w.put(&ch.Puts[i]) {
			stored++
		}
	}
	return stored
}

// Unknown ends a write that may or may not have happened, or may still happen. Nothing is
// stored under its tags and the given ones until the quarantine is over.
func (w *Write) Unknown(tags ...Tag) {
	if w.ended {
		return
	}
	// The quarantine is over in the millisecond after this one.
	w.end(tags, ByUnknown, generationAt(w.cache.Now()+w.cache.quarantine+int64(time.Millisecond)))
}

// end moves tags, then the write's own, to at least floor.
func (w *Write) end(tags []Tag, cause Cause, floor uint64) {
	w.ended = true
	c := w.cache
	for _, t := range tags {
		index := c.index(t)
		if m := w.mark(index); m == nil || !m.writing {
			c.slots[index].bump(floor)
			c.stats.bumped.Add(1)
		}
	}
	w.release(floor)
	c.stats.applied[cause].Add(1)
}

// mark returns the mark of a slot, nil if the write has none.
func (w *Write) mark(slot uint32) *mark {
	at, ok := slices.BinarySearchFunc(w.marks, slot, func(m mark, s uint32) int {
		return cmp.Compare(m.slot, s)
	})
	if !ok {
		return nil
	}
	return &w.marks[at]
}

// release moves the generations of a write and then removes it from the count of writes in
// flight, in this order (see slot). A write was alone if its generation has not moved since
// Begin and no other write is counted. The count is read first, because the other write
// might end in between. The generation alone is not enough:
//
//	W1: begin: counted first, ..................... moves gen | release: gen unmoved
//	W2:                        begin: counted, moves gen           still in flight
func (w *Write) release(floor uint64) {
	c := w.cache
	for i := range w.marks {
		m := &w.marks[i]
		if !m.writing {
			continue
		}
		s := &c.slots[m.slot]
		next := max(m.gen+1, floor)
		if s.writers.Load() == 1 && s.gen.CompareAndSwap(m.gen, next) {
			m.gen = next
		} else {
			m.alone = false
			s.bump(floor)
			c.stats.raced.Add(1)
		}
		s.writers.Add(-1)
		c.stats.bumped.Add(1)
	}
}

// put stores an entry of the write, under generations that only this write can have set, or
// that have not moved while it watched them. A later write moves them, so a late Set is
// harmless. A Put without tags is refused, because overlapping writes could not be detected.
func (w *Write) put(p *Put) bool {
	st := Stamp{n: uint8(len(p.Tags)), Settled: len(p.Tags) > 0}
	for i, t := range p.Tags {
		index := w.cache.index(t)
		m := w.mark(index)
		if m == nil || !m.alone {
			return false
		}
		st.slots[i], st.gens[i] = index, m.gen
	}
	_, stored := p.Space.Store(st, p.Key, &p.Filling)
	return stored
}
