package cache

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A generation is a hybrid clock in one word: the upper bits are milliseconds on the cache's
// clock, the lower ones a sequence number. It only grows. Its time also encodes two states:
// a time close to now means "written lately", a time in the future means "quarantined".
const sequenceBits = 20

// slot is the counter shared by the tags of the same hash. gen is moved by compare-and-swap;
// writers counts the writes in flight. A write increments writers before it moves gen, and
// decrements it after it has moved gen again. A reader that loads gen first and writers
// second therefore detects every overlapping write.
type slot struct {
	gen     atomic.Uint64
	writers atomic.Int32
	_       int32
}

func generationAt(now int64) uint64 {
	return uint64(now/int64(time.Millisecond)) << sequenceBits
}

// ahead reports whether gen is in a later millisecond than present: in quarantine.
func ahead(gen, present uint64) bool { return gen > present|(1<<sequenceBits-1) }

// bump moves the generation forward by one or to floor, the larger of them, and returns the
// old and the new value.
func (s *slot) bump(floor uint64) (old, next uint64) {
	for {
		old = s.gen.Load()
		next = max(old+1, floor)
		if s.gen.CompareAndSwap(old, next) {
			return old, next
		}
	}
}

// Stamp is the state of a fill's tags as recorded by Note. It is a value; an entry keeps the
// generations as its fence.
type Stamp struct {
	gens  [MaxTags]uint64
	slots [MaxTags]uint32
	n     uint8
	// Settled is false if a write of one of the tags is in flight or in quarantine, or if
	// this node has no lease. The answer of such a fill is not stored or shared.
	Settled bool
	// Strong requests a strongly consistent read: a write of one of the tags is in flight or
	// ended less than Config.Settle ago, so a replica may be behind, or such a write may have
	// been missed. If the origin can't answer strongly, the answer must not be stored.
	Strong bool
	era    uint32
}

// Note records the generations of tags, at most MaxTags, before the origin is queried.
func (c *Cache) Note(tags ...Tag) Stamp {
	era := c.era.Load() // before the rest: what is recorded while Empty runs belongs to the old era
	now := c.Now()
	st := Stamp{n: uint8(len(tags)), Settled: c.stores(now), era: era}
	st.Strong = !st.Settled || now < c.strongUntil.Load()
	present, lately := generationAt(now), generationAt(max(0, now-c.settle))
	for i, t := range tags {
		index := c.index(t)
		s := &c.slots[index]
		gen := s.gen.Load() // before writers: see slot
		if s.writers.Load() != 0 || ahead(gen, present) {
			// The write may have been applied just now, however long ago it began.
			st.Settled, st.Strong = false, true
		}
		if gen >= lately {
			st.Strong = true
		}
		st.slots[i], st.gens[i] = index, gen
	}
	return st
}

// Unfenced returns a settled stamp without tags, for a value that has fences of its own. It
// is only outdated by Empty.
func (c *Cache) Unfenced() Stamp { return Stamp{Settled: true, era: c.era.Load()} }

// Age returns the time since the latest move of one of the stamp's tags, rounded down to
// milliseconds. If none was moved it returns the time since the cache was created or
// emptied, because earlier writes are unknown.
func (c *Cache) Age(st *Stamp) time.Duration {
	latest := generationAt(c.emptied.Load())
	for _, gen := range st.gens[:st.n] {
		latest = max(latest, gen)
	}
	moved := time.Duration(latest>>sequenceBits+1) * time.Millisecond
	return max(0, time.Duration(c.Now())-moved)
}

// Supersede moves the generation of a settled stamp's only tag, if it has not moved since
// Note, and returns the new stamp. It is for a write whose answer contains the written
// value: everything stored or read before becomes unreachable, and the answer itself may be
// stored unless another write happens.
func (c *Cache) Supersede(st Stamp) (next Stamp, ok bool) {
	if st.n != 1 || !st.Settled || st.era != c.era.Load() {
		return st, false
	}
	gen := max(st.gens[0]+1, generationAt(c.Now()))
	if !c.slots[st.slots[0]].gen.CompareAndSwap(st.gens[0], gen) {
		return st, false
	}
	st.gens[0] = gen
	c.stats.applied[ByWrite].Add(1)
	c.stats.bumped.Add(1)
	return st, true
}

// Emptied reports whether st is outdated by Empty alone: none of its generations has moved,
// as far as this cache has heard.
func (c *Cache) Emptied(st *Stamp) bool {
	return st.era != c.era.Load() && c.unmoved(&st.slots, &st.gens, st.n)
}

// BeforeEmpty returns st as one that was noted before the cache was last emptied, for a value
// from before this process.
func (c *Cache) BeforeEmpty(st Stamp) Stamp {
	st.era = c.era.Load() - 1
	return st
}

// Current reports whether none of the stamp's generations has moved, and the cache was not
// emptied.
func (c *Cache) Current(st *Stamp) bool {
	return st.era == c.era.Load() && c.unmoved(&st.slots, &st.gens, st.n)
}

// renew sets the generations of a stamp to the present ones, for the fault fillsUnfenced.
func (c *Cache) renew(st *Stamp) {
	for i := range st.n {
		st.gens[i] = c.slots[st.slots[i]].gen.Load()
	}
}

// unmoved reports whether the first n slots still have these generations.
func (c *Cache) unmoved(slots *[MaxTags]uint32, gens *[MaxTags]uint64, n uint8) bool {
	if fenceIgnored {
		return true
	}
	for i := range n {
		if c.slots[slots[i]].gen.Load() != gens[i] {
			return false
		}
	}
	return true
}

// index returns the slot of t. The slots of broad tags follow the others.
func (c *Cache) index(t Tag) uint32 {
	if t&broad != 0 {
		return c.mask + 1 + uint32(t)&(broadSlots-1)
	}
	return uint32(t) & c.mask
}

// Generations describes the counter of each tag in words, for operators.
func (c *Cache) Generations(tags ...Tag) []string {
	out := make([]string, len(tags))
	now := c.Now()
	for i, t := range tags {
		s := &c.slots[c.index(t)]
		gen := s.gen.Load()
		at := time.Duration(gen>>sequenceBits) * time.Millisecond
		switch age := time.Duration(now) - at; {
		case gen == 0:
			out[i] = "not written since the start"
		case age < 0:
			out[i] = fmt.Sprintf("in quarantine for %s more", (-age).Round(time.Millisecond))
		default:
			out[i] = fmt.Sprintf("last moved %s ago", age.Round(time.Millisecond))
		}
		if n := s.writers.Load(); n > 0 {
			out[i] += fmt.Sprintf("; %d writes in flight", n)
		}
	}
	return out
}
