package cache

import (
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2/stats"
)

// counters are touched on the miss and write paths only.
type counters struct {
	fills, coalesced, queued, overtaken, unsettled, stored, raced, bumped, refreshes, fillPanics atomic.Uint64
	applied                                                                                      [causes]atomic.Uint64
}

// Stats are the figures of a cache since it was made.
type Stats struct {
	Fills     uint64            // origin reads that fills made
	Coalesced uint64            // requests that waited for another's fill
	Queued    uint64            // requests that waited for the fill after a fill, because of a write in flight
	Overtaken uint64            // fills not stored because a write came in between
	Unsettled uint64            // fills not stored because a write was in flight or in quarantine
	Stored    uint64            // entries stored
	Raced     uint64            // tags on which writes overlapped
	Bumped    uint64            // generations moved
	Refreshes uint64            // refreshes of hot entries started before their end
	Panics    uint64            // fills that panicked
	Applied   map[string]uint64 // Changes by cause
	Usage                       // of the shared store
}

// Stats returns the figures so far.
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

// Usage is what a store holds.
type Usage struct {
	Entries      int
	Bytes        uint64
	Capacity     uint64 // what entries may weigh now
	Reserved     uint64 // what is taken for what is no entry, and may be more than there is
	Memory       uint64 // what there is for both
	Evictions    uint64
	EvictedBytes uint64
	Shared       bool // with all spaces that have no cap
}

// Usage returns what the space's store holds.
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

// evictions counts what the policy threw out; all else is counted by us.
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
