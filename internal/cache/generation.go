package cache

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A generation is a hybrid clock in one word: milliseconds since the cache was
// made in the upper bits, a sequence in the lower. It only grows. Its time part
// carries two more facts for free: "written lately" is a time near now,
// "quarantined" is a time still to come.
const sequenceBits = 20

// slot is the counter that some tags share. gen is moved by any writer with
// compare-and-swap; writers counts the writes in flight. A writer raises writers
// before it moves gen, and lowers it after it has moved gen again: whoever reads
// gen first and writers second cannot miss a write that overlaps.
type slot struct {
	gen     atomic.Uint64
	writers atomic.Int32
	_       int32
}

func generationAt(now int64) uint64 {
	return uint64(now/int64(time.Millisecond)) << sequenceBits
}

// ahead tells whether gen lies in a millisecond after present's: in quarantine.
func ahead(gen, present uint64) bool { return gen > present|(1<<sequenceBits-1) }

// bump moves the generation past its present value and to at least floor, and
// returns the new value.
func (s *slot) bump(floor uint64) (next uint64) {
	for {
		old := s.gen.Load()
		next = max(old+1, floor)
		if s.gen.CompareAndSwap(old, next) {
			return next
		}
	}
}

// Stamp is what Note took down about the tags of a fill. It is a value; an entry
// keeps its generations as its fence.
type Stamp struct {
	gens  [MaxTags]uint64
	slots [MaxTags]uint32
	n     uint8
	// Settled is false while a write of one of the tags is in flight or in
	// quarantine. The answer of such a fill is neither stored nor shared.
	Settled bool
	// Strong asks for a strongly consistent read: a write of one of the tags is in
	// flight or ended less than Config.Settle ago, so a replica may still show the
	// past. An answer that could not be had strongly must not be stored.
	Strong bool
}

// Note takes down the generations of tags, before the origin is asked. It takes
// at most MaxTags tags.
func (c *Cache) Note(tags ...Tag) Stamp {
	now := c.Now()
	st := Stamp{n: uint8(len(tags)), Settled: true}
	present, lately := generationAt(now), generationAt(max(0, now-c.settle))
	if now < c.settle {
		// Nobody knows what was written before the start.
		st.Strong = true
	}
	for i, t := range tags {
		index := c.index(t)
		s := &c.slots[index]
		gen := s.gen.Load() // before writers: see slot
		if s.writers.Load() != 0 || ahead(gen, present) {
			// However long ago such a write began: it may have been applied just now.
			st.Settled, st.Strong = false, true
		}
		if gen >= lately {
			st.Strong = true
		}
		st.slots[i], st.gens[i] = index, gen
	}
	return st
}

// Age returns how long ago the latest of the stamp's tags was moved, in whole
// milliseconds and never too much. If none was moved it is the cache's own age, since
// what was written before the start is not known.
func (c *Cache) Age(st *Stamp) time.Duration {
	var latest uint64
	for _, gen := range st.gens[:st.n] {
		latest = max(latest, gen)
	}
	moved := time.Duration(latest>>sequenceBits+1) * time.Millisecond
	return max(0, time.Duration(c.Now())-moved)
}

// Supersede moves the generation of a settled stamp's one tag, if nobody has moved
// it since Note, and returns the stamp of what is true from then on. It is for a
// write whose answer shows what it has written: whatever was stored or read before
// is out of reach, and the answer itself may be stored unless another write comes.
func (c *Cache) Supersede(st Stamp) (next Stamp, ok bool) {
	if st.n != 1 || !st.Settled {
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

// Current tells whether none of the stamp's generations has moved.
func (c *Cache) Current(st *Stamp) bool { return c.unmoved(&st.slots, &st.gens, st.n) }

// unmoved tells whether the first n slots still have these generations.
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

// index is the slot of t. The broad tags' slots lie behind the others.
func (c *Cache) index(t Tag) uint32 {
	if t&broad != 0 {
		return c.mask + 1 + uint32(t)&(broadSlots-1)
	}
	return uint32(t) & c.mask
}

// Generations tells for each tag what its counter says, in words.
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
