package telemetry

import "sync/atomic"

// Counter is a number that only grows. It is spread over cache lines, so that counting costs
// the same on any number of processors; reading sums the lines and is meant for scrapes. The
// zero value is not usable: create one with [Registry.Counter] or [NewCounter].
type Counter struct {
	lines []counterLine
}

// counterLine fills two cache lines: processors fetch lines in pairs.
type counterLine struct {
	n atomic.Uint64
	_ [120]byte
}

// NewCounter returns a counter outside of any registry.
func NewCounter() *Counter {
	return &Counter{lines: make([]counterLine, shardCount)}
}

// Inc adds one.
func (c *Counter) Inc() { c.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.lines[shard()].n.Add(n) }

// Value returns the sum at some moment during the call: concurrent additions may or may not
// be included, and it never decreases.
func (c *Counter) Value() uint64 {
	var sum uint64
	for i := range c.lines {
		sum += c.lines[i].n.Load()
	}
	return sum
}
