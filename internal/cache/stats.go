package cache

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2/stats"
)

// counters are updated on the miss and write paths only.
type counters struct {
	fills, coalesced, queued, overtaken, unsettled, stored, raced, bumped, refreshes, fillPanics atomic.Uint64
	applied                                                                                      [causes]atomic.Uint64
}

// Stats are the counters of a cache since its creation.
type Stats struct {
	Fills     uint64            // origin reads made by fills
	Coalesced uint64            // requests that waited for a fill started by another
	Queued    uint64            // requests that waited for the next fill because of a write in flight
	Overtaken uint64            // fills not stored because of a write that happened meanwhile
	Unsettled uint64            // fills not stored because a write was in flight or in quarantine
	Stored    uint64            // entries stored
	Raced     uint64            // tags whose writes overlapped
	Bumped    uint64            // generations moved
	Refreshes uint64            // refreshes of hot entries before their expiry
	Panics    uint64            // fills that panicked
	Applied   map[string]uint64 // Changes by cause
	Usage                       // of the shared store
}

// Stats returns the current counters.
func (c *Cache) Stats() Stats {
	s := &c.stats
	out := Stats{
		Fills: s.fills.Load(), Coalesced: s.coalesced.Load(), Queued: s.queued.Load(),
		Overtaken: s.overtaken.Load(), Unsettled: s.unsettled.Load(), Stored: s.stored.Load(),
		Raced: s.raced.Load(), Bumped: s.bumped.Load(), Refreshes: s.refreshes.Load(), Panics: s.fillPanics.Load(),
		Applied: make(map[string]uint64, causes),
	}
	for cause := range causes {
		out.Applied[cause.String()] = s.applied[cause].Load()
	}
	out.Usage = c.usage(c.shared)
	out.Shared = true
	return out
}

// Usage describes the use of a store's memory.
type Usage struct {
	Entries      int
	Bytes        uint64
	Capacity     uint64 // current maximum weight of the entries
	Reserved     uint64 // reserved for other data than entries; may exceed Memory
	Memory       uint64 // for both
	Evictions    uint64
	EvictedBytes uint64
	Shared       bool // shared by all spaces without a cap
}

// Usage returns the use of the space's store.
func (s *Space) Usage() Usage {
	u := s.cache.usage(s.store)
	u.Shared = !s.own
	return u
}

func (c *Cache) usage(s *store) Usage {
	c.memoryMu.Lock()
	memory, taken := s.memory, s.reserved+s.bodies
	c.memoryMu.Unlock()
	return Usage{
		Entries: s.otter.EstimatedSize(), Bytes: s.otter.WeightedSize(), Capacity: s.otter.GetMaximum(),
		Memory: uint64(memory), Reserved: uint64(taken),
		Evictions: s.evicted.n.Load(), EvictedBytes: s.evicted.bytes.Load(),
	}
}

// Held returns the number of bytes of all entries in memory and of everything in flight.
func (c *Cache) Held() int64 {
	c.memoryMu.Lock()
	stores := append(slices.Clone(c.capped), c.shared)
	c.memoryMu.Unlock()
	held := c.budget.Stats().Held
	for _, s := range stores {
		held += int64(s.otter.WeightedSize())
	}
	return held
}

// evictions counts the evictions of the store's policy. The cache counts everything else
// itself.
type evictions struct{ n, bytes atomic.Uint64 }

func (*evictions) RecordHits(int)   {}
func (*evictions) RecordMisses(int) {}
func (e *evictions) RecordEviction(weight uint32) {
	e.n.Add(1)
	e.bytes.Add(uint64(weight))
}
func (*evictions) RecordLoadSuccess(time.Duration) {}
func (*evictions) RecordLoadFailure(time.Duration) {}

var _ stats.Recorder = (*evictions)(nil)
