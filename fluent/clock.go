package fluent

import (
	"sync/atomic"
	"time"
)

// clock gives records their places in the order in which they were posted: by
// time, which all processors can read without touching memory that others
// write. Where time is too coarse to tell two calls of one goroutine apart, as
// Windows' is, it counts instead.
type clock struct {
	start  time.Time
	counts bool
	count  atomic.Int64
}

// newClock looks how fine the time is. One call of Post takes longer than a
// few readings of it.
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

// at returns the place of a record posted at now. If that is for read to say,
// it is before all others.
func (c *clock) at(now time.Time) int64 {
	if c.counts {
		return -1
	}
	return int64(now.Sub(c.start))
}

// read returns the place of a record that is being taken in.
func (c *clock) read() int64 {
	if c.counts {
		return c.count.Add(1)
	}
	return int64(time.Since(c.start))
}
