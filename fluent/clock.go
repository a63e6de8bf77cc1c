package fluent

import (
	"sync/atomic"
	"time"
)

// clock orders records by the time of Post, which all processors can read without shared
// memory. Where the time is too coarse to distinguish two calls of one goroutine, as on
// Windows, it counts instead.
type clock struct {
	start  time.Time
	counts bool
	count  atomic.Int64
}

// newClock checks the resolution of the time. One call of Post takes longer than a few
// readings of it.
func newClock() *clock {
	const readings = 128
	steps, last := 0, time.Now()
	start := last
	for range readings {
		now := time.Now()
		if now.After(last) {
			steps++
		}
		last = now
	}
	return &clock{start: start, counts: steps < readings/4}
}

// at returns the position of a record posted at now. If the clock counts, that is before all
// others, and read determines it.
func (c *clock) at(now time.Time) int64 {
	if c.counts {
		return -1
	}
	return int64(now.Sub(c.start))
}

// read returns the position of a record that is being added.
func (c *clock) read() int64 {
	if c.counts {
		return c.count.Add(1)
	}
	return int64(time.Since(c.start))
}
