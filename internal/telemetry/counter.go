package telemetry

import "sync/atomic"

// Counter only grows. It is spread over cache lines, so that counting costs the
// same however many processors count; reading adds the lines up and is meant
// for scrapes. The zero value is not usable: get one from [Registry.Counter] or
// [NewCounter].
type Counter struct {
	lines []counterLine
}

// counterLine fills two cache lines: processors fetch lines in pairs.
type counterLine struct {
	n atomic.Uint64
	_ [120]byte
}

// NewCounter returns a counter that no registry exposes.
func NewCounter() *Counter {
	return &Counter{lines: make([]counterLine, shardCount)}
}

// Inc adds one.
func (c *Counter) Inc() { c.Add(1) }

// Add adds n.
func (c *Counter) Add(n uint64) { c.lines[shard()].n.Add(n) }

// Value is the sum at some moment during the call: additions that run at the
// same time may or may not be in it, and it never goes back.
func (c *Counter) Value() uint64 {
	var sum uint64
	for i := range c.lines {
		sum += c.lines[i].n.Load()
	}
	return sum
}
