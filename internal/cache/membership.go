package cache

import (
	"slices"
	"sync"
	"sync/atomic"
)

// membership is the state of a cache as one of several caches of a cluster. Without a
// cluster the lease never ends and the era never moves.
type membership struct {
	coordinator  Coordinator
	broadcasts   broadcasts
	peers        Peers
	fetches      fetches
	warmers      warmers
	announcing   atomic.Int64  // broadcasts in progress or about to begin: no peer is asked
	passIsolated bool          // writes are sent without a lease
	lease        atomic.Int64  // its end, on the cache's clock
	era          atomic.Uint32 // moved by Empty
	emptied      atomic.Int64  // the time of the last Empty
	strongUntil  atomic.Int64  // fills are strong until then
	coldUntil    atomic.Int64  // nothing is stored until then
	sweeping     bool          // sweep is running; guarded by Cache.memoryMu
	running      sync.WaitGroup
}

// SetLease sets the end of the lease, on the cache's clock. While a cache has no lease,
// look-ups find nothing, requests join no fill, and fills are strong and not stored. Without
// a call of SetLease the lease never ends.
func (c *Cache) SetLease(until int64) { c.lease.Store(until) }

// Serves reports whether now, a time on the cache's clock, is before the end of the lease:
// whether stored answers may be served. A store with look-ups of its own must ask it.
func (c *Cache) Serves(now int64) bool { return now < c.lease.Load() }

// stores reports whether answers of fills and writes that begin now may be stored.
func (c *Cache) stores(now int64) bool { return c.Serves(now) && now >= c.coldUntil.Load() }

// Empty makes everything stored so far unreachable for ever, and everything that fills and
// writes which began before would still store. It is for a node whose cluster has sent it no
// writes for a while. It does not wait until the memory is free: a goroutine removes the
// unreachable entries, and Close ends it.
func (c *Cache) Empty() {
	c.era.Add(1)
	raise(&c.emptied, c.Now())
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	if !c.closed.Load() && !c.sweeping {
		c.sweeping = true
		c.running.Go(c.sweep)
	}
}

// sweep removes the entries of earlier eras. It ends when the cache is closed, or when there
// was no further Empty meanwhile.
func (c *Cache) sweep() {
	for done := false; !done; {
		era := c.era.Load()
		c.memoryMu.Lock()
		stores := append(slices.Clone(c.capped), c.shared)
		c.memoryMu.Unlock()
		for _, s := range stores { // without the lock: removal listeners run
			c.sweepStore(s)
		}
		c.memoryMu.Lock()
		done = c.closed.Load() || c.era.Load() == era
		c.sweeping = !done
		c.memoryMu.Unlock()
	}
}

// sweepStore removes the entries of a store that are not of the present era.
func (c *Cache) sweepStore(s *store) {
	for hash, e := range s.otter.All() {
		if c.closed.Load() {
			return
		}
		if hash != c.hash(c.era.Load(), e.space, e.Key()) {
			s.otter.Invalidate(hash)
		}
	}
}

// SettleUntil makes fills strong until t, on the cache's clock: writes may have been missed
// whose effect a replica does not show yet. An earlier t than that of another call has no
// effect.
func (c *Cache) SettleUntil(t int64) { raise(&c.strongUntil, t) }

// ColdUntil makes fills strong and lets nothing be stored until t, on the cache's clock:
// requests that are unknown to this cache may still take effect at the origin until then.
// An earlier t than that of another call has no effect.
func (c *Cache) ColdUntil(t int64) {
	raise(&c.strongUntil, t+c.settle) // such a request may take effect at the end
	raise(&c.coldUntil, t)
}

// raise sets v to n unless it is larger already.
func raise(v *atomic.Int64, n int64) {
	for {
		old := v.Load()
		if old >= n || v.CompareAndSwap(old, n) {
			return
		}
	}
}
