package cache

import (
	"cmp"
	"slices"
	"time"
)

// Cause says where a Change came from.
type Cause uint8

// The causes of a Change.
const (
	ByWrite   Cause = iota // a client's write
	ByUnknown              // a client's write with an unknown outcome
	ByTable                // a table or database was changed or dropped
	ByPurge                // an operator
	ByExpiry               // the origin removed what had expired, and said so
	ByFeed                 // the origin's feed of changes told of it, or could not be followed
	causes
)

var causeNames = [causes]string{"write", "unknown-outcome", "table", "purge", "expiry", "feed"}

func (c Cause) String() string { return causeNames[c] }

// Change is what a write did, wherever it came from: the tags that moved and
// the entries that are now known.
type Change struct {
	Cause Cause
	Tags  []Tag
	Puts  []Put
}

// Put is an entry that a write brings: the answer that a read would now get.
type Put struct {
	Space   *Space
	Key     []byte
	Tags    []Tag
	Filling Filling
}

// Apply invalidates what depends on the Change's tags. When it has returned, no
// look-up finds and no fill stores what was read before. A Change's Puts need
// the fence of a Write: without one there is nothing to tell that no other write
// overlapped, so Apply only counts their tags as moved.
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

// Write is a write in flight. It must end with Commit or Unknown: until then
// nothing is stored under its tags. The first end counts and a second does
// nothing, so `defer w.Unknown()` guards a write against panics and forgotten
// branches. It is used by one goroutine.
type Write struct {
	cache *Cache
	marks []mark // sorted by slot, one per slot
	ended bool
}

// mark is what a Write knows about one slot.
type mark struct {
	slot    uint32
	gen     uint64 // as Begin left it, then as settle did
	writing bool   // moved by this write; else only watched
	alone   bool   // no other write of the slot overlaps, in flight or in quarantine
}

// Begin declares a write of tags, before the origin is asked. watch are tags
// that the write does not move but that its Puts depend on.
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
			m.alone = true // as long as settle finds nothing else
		} else {
			m.gen = s.gen.Load() // before writers: see slot
			m.alone = s.writers.Load() == 0
		}
		// In quarantine an older write may still come out on top of this one,
		// even if the quarantine is over when this one ends.
		m.alone = m.alone && !ahead(m.gen, floor)
	}
	return w
}

// Commit ends a write whose outcome is known. It moves the write's tags and
// those of ch (which may have been learnt from the origin's answer), then stores
// ch's Puts, each only if no other write of its tags overlapped. It returns how
// many were stored.
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

// Unknown ends a write that may or may not have happened, or may still happen.
// Nothing is stored under its tags, nor under those given, until the quarantine
// is over.
func (w *Write) Unknown(tags ...Tag) {
	if w.ended {
		return
	}
	// The quarantine ends with a millisecond: the one after it is over.
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

// mark returns what the write knows about a slot, nil if it is not one of its.
func (w *Write) mark(slot uint32) *mark {
	at, ok := slices.BinarySearchFunc(w.marks, slot, func(m mark, s uint32) int {
		return cmp.Compare(m.slot, s)
	})
	if !ok {
		return nil
	}
	return &w.marks[at]
}

// release moves the generations of a write to its end and takes it out of the
// count of writes in flight, in this order (see slot). A write was alone if
// nobody has moved the generation since its Begin and nobody else is counted;
// the count is read first, or the other might leave it in between. The
// generation does not tell all:
//
//	W1: begin: counted first, ..................... moves gen | settle: gen unmoved
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

// put stores what the write brought, under generations that only this write can
// have set, or that nobody has moved since it only watched them. Whoever writes
// after it moves them, so a late Set is harmless. A Put without tags is refused:
// there is nothing to tell that no other write overlapped.
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
