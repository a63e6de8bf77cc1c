package cache

import (
	"slices"
	"time"
)

// Hold is a write of another member of the cluster: nothing is stored under its tags until
// it ends. It ends with Release or Quarantine, of which only the first has an effect. It is
// used by one goroutine.
type Hold struct {
	cache *Cache
	slots []uint32 // each once
	ended bool
}

// Hold fences tags and keeps them so. It is local, and a writer like those of Begin: the
// entries of a write that overlaps with it are not stored.
func (c *Cache) Hold(tags []Tag) *Hold {
	h := &Hold{cache: c, slots: make([]uint32, 0, len(tags))}
	h.Extend(tags)
	return h
}

// Extend fences further tags.
func (h *Hold) Extend(tags []Tag) {
	if h.ended {
		return
	}
	c, had := h.cache, len(h.slots)
	for _, t := range tags {
		h.slots = append(h.slots, c.index(t))
	}
	floor := generationAt(c.Now())
	added := distinct(h.slots[:had], h.slots[had:])
	for _, index := range added {
		s := &c.slots[index]
		s.writers.Add(1) // before gen: see slot
		s.bump(floor)
	}
	h.slots = h.slots[:had+len(added)]
	c.stats.bumped.Add(uint64(len(added)))
}

// distinct returns the slots of more that are not in had, each once, in more's memory.
func distinct(had, more []uint32) []uint32 {
	slices.Sort(more)
	more = slices.Compact(more)
	return slices.DeleteFunc(more, func(s uint32) bool { return slices.Contains(had, s) })
}

// Release ends a write whose outcome is known. It moves the generations again, as Commit
// does.
func (h *Hold) Release() { h.end(generationAt(h.cache.Now())) }

// Quarantine ends a write whose outcome is unknown: nothing is stored under its tags and the
// given ones for d.
func (h *Hold) Quarantine(d time.Duration, tags ...Tag) {
	if h.ended {
		return
	}
	h.cache.Quarantine(d, tags...)
	h.end(h.cache.quarantinedFor(d))
}

// end moves the held generations to at least floor and then removes the write from their
// counts, in this order (see slot).
func (h *Hold) end(floor uint64) {
	if h.ended {
		return
	}
	h.ended = true
	for _, index := range h.slots {
		s := &h.cache.slots[index]
		s.bump(floor)
		s.writers.Add(-1)
	}
	h.cache.stats.bumped.Add(uint64(len(h.slots)))
}

// Quarantine lets nothing be stored under tags for d, as after a write with an unknown
// outcome.
func (c *Cache) Quarantine(d time.Duration, tags ...Tag) {
	floor := c.quarantinedFor(d)
	for _, t := range tags {
		c.slots[c.index(t)].bump(floor)
	}
	c.stats.bumped.Add(uint64(len(tags)))
}

// QuarantineUnknown is Quarantine for a write of this cache that has no round, for
// Config.Quarantine.
func (c *Cache) QuarantineUnknown(tags ...Tag) {
	c.Quarantine(time.Duration(c.quarantine), tags...)
	c.stats.applied[ByUnknown].Add(1)
}

// quarantinedFor returns the generation of a quarantine of d. It is over in the millisecond
// after its end.
func (c *Cache) quarantinedFor(d time.Duration) uint64 {
	return generationAt(c.Now() + int64(d) + int64(time.Millisecond))
}
