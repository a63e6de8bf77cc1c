package cache

import (
	"cmp"
	"context"
	"fmt"
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

// Apply invalidates everything that depends on the Change's tags, in this cache only: it is
// for changes that every member of a cluster sees itself, and Invalidate for the others. When
// it has returned, no look-up finds and no fill stores what was read before. Apply stores none of the Change's
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
	era   uint32
	ended bool
	round Round // nil without a coordinator; so are the fields below
	tags  []Tag
	more  *Hold // of tags that only the answer has shown
}

// mark is the state of one slot for a Write.
type mark struct {
	slot    uint32
	writing bool   // moved by this write; otherwise only watched
	alone   bool   // no other write of the slot overlaps, in flight or in quarantine
	before  uint64 // the generation before Begin
	gen     uint64 // as set by Begin, then by release
}

// Begin declares a write of tags, before it is sent to the origin. watch are tags that the
// write does not move but that its Puts depend on. With a coordinator, Begin returns when all
// other members have fenced the tags, and with an error if they have not: then the write must
// not be sent, and there is none to end. unsure are tags that the write may move too, as for
// Unknown: the other members put them in quarantine if this process ends before the write.
func (c *Cache) Begin(ctx context.Context, tags, watch []Tag, unsure ...Tag) (*Write, error) {
	w := c.begin(tags, watch)
	if c.coordinator == nil {
		return w, nil
	}
	refused := true
	defer func() {
		if refused {
			w.end(nil, ByWrite, generationAt(c.Now()))
		}
	}()
	w.tags = slices.Clone(tags) // the caller's need not escape
	round, err := c.coordinator.Begin(ctx, w.tags, slices.Clone(unsure))
	if err != nil {
		return nil, fmt.Errorf("cache: the other members have not fenced a write: %w", err)
	}
	w.round, refused = round, false
	return w, nil
}

// begin fences a write in this cache.
func (c *Cache) begin(tags, watch []Tag) *Write {
	w := &Write{cache: c, marks: make([]mark, 0, len(tags)+len(watch)), era: c.era.Load()}
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
	now := c.Now()
	floor, stores := generationAt(now), c.stores(now)
	for i := range w.marks {
		m := &w.marks[i]
		s := &c.slots[m.slot]
		if m.writing {
			s.writers.Add(1)
			if writesUnmoved {
				m.gen = s.gen.Load()
			} else {
				m.before, m.gen = s.bump(floor)
			}
			m.alone = true // until release finds otherwise
		} else {
			m.gen = s.gen.Load() // before writers: see slot
			m.alone = s.writers.Load() == 0
		}
		// In quarantine an older write may still be applied after this one, even if the
		// quarantine is over when this one ends. The same is true of ColdUntil, and without
		// a lease other members may write unseen.
		m.alone = m.alone && stores && !ahead(m.gen, floor)
	}
	return w
}

// Guard returns Sendable, or nil without a coordinator.
func (w *Write) Guard() func() bool {
	if w.round == nil {
		return nil
	}
	return w.round.Sendable
}

// Sendable reports whether the write may be sent to the origin now: this node has a lease.
// It is true without a coordinator.
func (w *Write) Sendable() bool { return w.round == nil || w.round.Sendable() }

// Commit ends a write with a known outcome. It moves the tags of the write and of ch, which
// may be known only from the origin's answer, then stores each of ch's Puts if no other
// write of its tags overlapped. It returns the number of stored Puts.
//
// With a coordinator the other members fence the tags that Begin did not have before Commit
// returns. If they cannot, the write ends as by Unknown with ch's tags, and Commit returns an
// error. The client must then get an error too, since other members may serve old answers.
func (w *Write) Commit(ctx context.Context, ch Change) (stored int, err error) {
	if w.ended {
		return 0, nil
	}
	if w.round != nil {
		if err := w.extend(ctx, ch.Tags); err != nil {
			w.Unknown(ch.Tags...)
			return 0, err
		}
	}
	w.end(ch.Tags, ch.Cause, generationAt(w.cache.Now()))
	for i := range ch.Puts {
		if w.put(&ch.Puts[i]) {
			stored++
		}
	}
	if w.round != nil {
		w.round.Commit()
	}
	return stored, nil
}

// extend fences those of tags that Begin did not have, here and at the other members.
func (w *Write) extend(ctx context.Context, tags []Tag) error {
	var more, here []Tag
	for _, t := range tags {
		if slices.Contains(w.tags, t) || slices.Contains(more, t) {
			continue
		}
		more = append(more, t)
		if m := w.mark(w.cache.index(t)); m == nil || !m.writing {
			here = append(here, t) // other members may have another number of counters
		}
	}
	if more == nil {
		return nil
	}
	w.more = w.cache.Hold(here)
	if err := w.round.Extend(ctx, more); err != nil {
		return fmt.Errorf("cache: the other members have not fenced the further tags of a write: %w", err)
	}
	if !w.round.Sendable() {
		// The members that have fenced them may not be all any more.
		return fmt.Errorf("cache: the write has further tags: %w", ErrIsolated)
	}
	return nil
}

// Unknown ends a write that may or may not have happened, or may still happen. Nothing is
// stored under its tags and the given ones until the quarantine is over.
func (w *Write) Unknown(tags ...Tag) {
	if w.ended {
		return
	}
	w.end(tags, ByUnknown, w.cache.quarantinedFor(time.Duration(w.cache.quarantine)))
	if w.round != nil {
		w.round.Unknown(slices.Clone(tags)) // the caller's need not escape
	}
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
	if w.more != nil {
		w.more.end(floor)
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
		switch {
		case writesUnmoved:
			m.alone = false
		case s.writers.Load() == 1 && s.gen.CompareAndSwap(m.gen, next):
			m.gen = next
		default:
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
// harmless. A Put without tags is refused, because overlapping writes could not be detected,
// and so is one of a write that began before the cache was emptied.
func (w *Write) put(p *Put) bool {
	st := Stamp{n: uint8(len(p.Tags)), Settled: len(p.Tags) > 0, era: w.era}
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

// Invalidate is Apply for all members of a cluster. When it has returned without an error, no
// member serves or stores what was read before. After an error the answers of this cache are
// invalid and those of other members may not be. Without a coordinator it is Apply.
func (c *Cache) Invalidate(ctx context.Context, ch Change) error {
	if c.coordinator == nil {
		c.Apply(ch)
		return nil
	}
	_, err := c.invalidate(ctx, &ch)
	return err
}

// InvalidateSince is Invalidate for a write whose answer contains the written value, and that
// was sent when st was recorded. If nothing else has moved st's only tag since, it returns the
// stamp under which the answer may be stored, and true. ch need not contain that tag.
func (c *Cache) InvalidateSince(ctx context.Context, st Stamp, own Tag, ch Change) (next Stamp, alone bool, err error) {
	if c.coordinator == nil {
		next, alone = c.Supersede(st)
	}
	if !alone {
		ch.Tags = append(slices.Clip(ch.Tags), own)
	}
	if c.coordinator == nil {
		c.Apply(ch)
		return next, alone, nil
	}
	w, err := c.invalidate(ctx, &ch)
	if err != nil || st.n != 1 || !st.Settled || st.era != w.era {
		return st, false, err
	}
	m := w.mark(st.slots[0])
	if m == nil || !m.alone || m.before != st.gens[0] {
		return st, false, nil
	}
	st.gens[0] = m.gen
	return st, true, nil
}

// invalidate makes the round of a change that has no request of its own.
func (c *Cache) invalidate(ctx context.Context, ch *Change) (*Write, error) {
	tags := slices.Clone(ch.Tags)
	for i := range ch.Puts {
		tags = append(tags, ch.Puts[i].Tags...)
	}
	w, err := c.Begin(ctx, tags, nil)
	if err != nil {
		return nil, err
	}
	if !w.Sendable() {
		w.Unknown()
		return nil, fmt.Errorf("cache: the change may not be complete: %w", ErrIsolated)
	}
	_, err = w.Commit(ctx, Change{Cause: ch.Cause})
	return w, err
}
