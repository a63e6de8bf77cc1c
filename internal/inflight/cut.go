package inflight

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Client is a client that an answer is being written to.
type Client struct {
	// Taken is how many bytes of the answer it has taken, and Waited for how long it has
	// been waited for.
	Taken  int64
	Waited time.Duration
	// Cut ends the answer. It is called once, by another goroutine, and must not block.
	Cut func()
}

// Source lists the clients of a listener.
type Source struct {
	// Clients calls yield for each client that is waited for.
	Clients func(yield func(Client))
}

const (
	// cutEvery is the interval of the rounds in which clients are cut.
	cutEvery = 100 * time.Millisecond
	// leastWaited is how long a client is waited for before it can be cut.
	leastWaited = 2 * time.Second
	// fastEnough is a pace, in bytes a second, at which a client is never cut.
	fastEnough = 256 << 10
	// cutPart of the clients that can be cut are cut in a round.
	cutPart = 16
)

// Register makes the clients of s candidates for being cut, until the returned function is
// called.
func (b *Budget) Register(s *Source) (remove func()) {
	if b == nil {
		return func() {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sources[s] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.sources, s)
	}
}

// startCutting begins with rounds of cuts, which go on as long as requests wait for their
// share, or more is held than there should be.
func (b *Budget) startCutting() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.timer == nil {
		b.timer = time.AfterFunc(cutEvery, b.round)
	}
}

// round cuts the slowest clients, and is called again while that is needed.
func (b *Budget) round() {
	b.mu.Lock()
	sources := slices.Collect(maps.Keys(b.sources))
	if b.shares.len() == 0 && b.held.Load() <= b.upper {
		b.timer = nil
		b.mu.Unlock()
		return
	}
	b.timer.Reset(cutEvery)
	b.mu.Unlock()
	for _, c := range slowest(sources) {
		b.stats.cut.Add(1)
		c.Cut()
	}
}

// slowest returns the slowest of the clients that can be cut: only a part of them, so that
// their memory can be returned before more are cut.
func slowest(sources []*Source) []Client {
	var all []Client
	for _, s := range sources {
		s.Clients(func(c Client) {
			if c.Waited >= leastWaited && c.pace() < fastEnough {
				all = append(all, c)
			}
		})
	}
	slices.SortFunc(all, func(a, b Client) int { return cmp.Compare(a.pace(), b.pace()) })
	return all[:(len(all)+cutPart-1)/cutPart]
}

// pace returns how many bytes a second the client accepts.
func (c *Client) pace() float64 { return float64(c.Taken) / c.Waited.Seconds() }
