package hotkeys

import (
	"sync"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Metric is a number by which keys are ordered.
type Metric int

// The metrics.
const (
	Requests Metric = iota
	Misses
	Bytes
	Invalidations
	metrics
)

// MetricNames are the metrics in the admin API.
var MetricNames = [...]string{Requests: "requests", Misses: "misses", Bytes: "bytes", Invalidations: "invalidations"}

// shards is the number of parts of a table. Each has the keys of some hashes, and a lock. It is a
// power of two.
const shards = 4

// table has the counters of one table.
type table struct {
	shards [shards]shard
}

// shard has the counters of a part of the keys.
type shard struct {
	mu      sync.Mutex // leaf
	epoch   int64      // number of the window that current is for
	old     counters   // of all windows before last
	last    counters
	current counters
	_       [64]byte // keeps locks in separate cache lines
}

// counters count the uses in one time.
type counters struct {
	lists [metrics]*list // nil: nothing was counted
	reads uint64
}

// use is something that happened to a key.
type use struct {
	hash                               uint64
	key                                []byte
	bytes                              uint64
	weight                             uint64 // the number of uses that this one is counted for
	request, read, misses, invalidates bool
}

// decided sets the effects of a request with this decision.
func (u *use) decided(d telemetry.Decision) {
	switch d {
	case telemetry.Hit, telemetry.HitNegative, telemetry.HitStale:
		u.read = true
	case telemetry.Write:
		u.invalidates = true
	case telemetry.None, telemetry.Local, telemetry.Pass:
	default:
		u.read, u.misses = true, true
	}
}

// count adds a use in the window now.
func (t *table) count(now int64, u *use) {
	s := &t.shards[(u.hash>>32)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance(now)
	c := &s.current
	if u.read {
		c.reads += u.weight
	}
	if u.request {
		c.add(Requests, u, 1)
		c.add(Bytes, u, u.bytes)
	}
	if u.misses {
		c.add(Misses, u, 1)
	}
	if u.invalidates {
		c.add(Invalidations, u, 1)
	}
}

func (c *counters) add(m Metric, u *use, n uint64) {
	if n == 0 {
		return
	}
	if c.lists[m] == nil {
		c.lists[m] = &list{}
	}
	c.lists[m].add(u.hash, u.key, n, u.weight)
}

// advance begins the window now. mu must be held. Another request may have read its clock before the
// window began.
func (s *shard) advance(now int64) {
	if now <= s.epoch {
		return
	}
	s.old.absorb(&s.last)
	s.last, s.current = s.current, counters{}
	if now > s.epoch+1 {
		s.old.absorb(&s.last)
		s.last = counters{}
	}
	s.epoch = now
}

// absorb adds the counts of d.
func (c *counters) absorb(d *counters) {
	c.reads += d.reads
	for m := range c.lists {
		switch {
		case d.lists[m] == nil:
		case c.lists[m] == nil:
			c.lists[m] = d.lists[m]
		default:
			c.lists[m] = merged(c.lists[m], d.lists[m])
		}
	}
}
