package cache

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
)

// sizing estimates the hit ratio that a store would have with another amount of memory. It
// simulates caches for a sample of the keys, with the policy of the store itself: in a cache for
// one of 64 keys that has a 64th of the memory, each of them is as likely to be found as in
// the whole (C. Waldspurger and others, "Cache Modeling and Optimization using Miniature
// Simulations", 2017). A key is sampled by its hash (SHARDS), so that all of its accesses are
// seen. Reuse distances alone would not do: they are the hit ratio of LRU, and the store evicts
// by frequency too.
//
// A look-up of another key costs the comparison of its hash. No request waits for the lock: an
// access during another one is left out of the sample.
type sizing struct {
	below atomic.Uint64 // hashes below it are sampled
	// lookups and hits are of all keys, counted in steps of countStep.
	lookups, hits atomic.Uint64
	left          atomic.Uint64 // sampled accesses that were left out
	capacity      atomic.Uint64 // of the store

	mu       sync.Mutex
	caches   [len(factors)]simulation // without an otter until the first access
	shift    uint                     // one of 2^shift keys is sampled
	applied  uint64                   // the capacity for which the caches are made
	taken    uint64                   // accesses of the sample
	nextHalf int64                    // when the counts are halved next
}

// simulation is a cache for the sampled keys.
type simulation struct {
	otter *otter.Cache[uint64, *shadow]
	hits  float64 // each counts for all keys, of which its key is a sample
}

// factors are the sizes of the simulated caches in relation to the store. One of them is actual.
var factors = [...]float64{0.5, 1, 2}

const (
	actual = 1 // index of 1 in factors

	firstShift  = 4       // one of 16 keys is sampled at first
	maxSample   = 8 << 10 // keys in the largest cache, beyond which half of the keys are sampled
	adjustEvery = 256     // accesses of the sample between two adjustments
	countStep   = 16
	// halfLife is the time after which an access counts half, if there were enough of them.
	halfLife        = int64(30 * time.Minute)
	enoughToHalve   = 1 << 20
	minSampleWeight = 4 << 10 // bytes that a simulated cache has at least
)

// shadow is what a simulated cache holds of an entry: its weight, and until when it is valid.
type shadow struct {
	gens       [MaxTags]uint64
	slots      [MaxTags]uint32
	tags       uint8
	weight     uint32
	freshUntil int64
}

func shadowOf(e *Entry) *shadow {
	return &shadow{gens: e.gens, slots: e.slots, tags: e.tags(), weight: e.weight(), freshUntil: e.freshUntil}
}

// fresh reports whether the entry would be found, were it still stored.
func (c *Cache) fresh(v *shadow, now int64) bool {
	return now < v.freshUntil && c.unmoved(&v.slots, &v.gens, v.tags)
}

func (z *sizing) init(capacity uint64) {
	z.shift = firstShift
	z.below.Store(math.MaxUint64 >> firstShift)
	z.capacity.Store(capacity)
}

// sampled reports whether accesses of the key with this hash are simulated.
func (z *sizing) sampled(hash uint64) bool { return hash < z.below.Load() }

// try acquires the lock if it is free.
func (z *sizing) try() bool {
	if !z.mu.TryLock() {
		z.left.Add(1)
		return false
	}
	return true
}

// count counts a look-up of any key.
func (z *sizing) count(hit bool) {
	if rand.Uint32()%countStep > 0 {
		return
	}
	z.lookups.Add(countStep)
	if hit {
		z.hits.Add(countStep)
	}
}

// looked simulates a look-up of a request, which has found e, or nil.
func (z *sizing) looked(c *Cache, hash uint64, e *Entry, now int64) {
	if !z.sampled(hash) || !z.try() {
		return
	}
	defer z.mu.Unlock()
	if z.taken++; z.taken%adjustEvery == 1 {
		z.adjust(c.Now())
	}
	for i := range z.caches {
		s := &z.caches[i]
		v, ok := s.otter.GetIfPresent(hash)
		switch {
		case ok && c.fresh(v, now):
			s.hits += float64(uint64(1) << z.shift)
		case e != nil:
			s.otter.Set(hash, shadowOf(e)) // what its fill would have stored
		}
	}
}

// stored stores e in the simulated caches. replaced is set if the store had an entry that was
// valid: then e is from a refresh, which a cache without the entry would not have.
func (z *sizing) stored(c *Cache, hash uint64, e *Entry, replaced bool) {
	if !z.sampled(hash) || !z.try() {
		return
	}
	defer z.mu.Unlock()
	now := c.Now()
	shared := shadowOf(e)
	for i := range z.caches {
		s := z.caches[i].otter
		if s == nil {
			return // nothing was looked up yet
		}
		old, ok := s.GetEntryQuietly(hash)
		keeps := ok && c.fresh(old.Value, now) // without the eviction there was no fill
		if replaced && ok || !replaced && !keeps {
			s.Set(hash, shared)
		}
	}
}

// dropped removes a key from the simulated caches.
func (z *sizing) dropped(hash uint64) {
	if !z.sampled(hash) || !z.try() {
		return
	}
	defer z.mu.Unlock()
	for i := range z.caches {
		if s := z.caches[i].otter; s != nil {
			s.Invalidate(hash)
		}
	}
}

// adjust makes the caches if there are none yet, fits them to the capacity of the store, samples
// fewer keys if there are too many, and forgets what was long ago.
func (z *sizing) adjust(now int64) {
	capacity := z.capacity.Load()
	if z.caches[0].otter == nil {
		for i := range z.caches {
			z.caches[i].otter = newSimulation(z.size(i, capacity))
		}
		z.applied, z.nextHalf = capacity, now+halfLife
	}
	full := z.caches[len(factors)-1].otter.EstimatedSize() > maxSample
	if full {
		z.shift++
		z.below.Store(math.MaxUint64 >> z.shift)
	}
	if full || capacity != z.applied {
		z.applied = capacity
		for i := range z.caches {
			z.fit(i)
		}
	}
	if n := z.lookups.Load(); now >= z.nextHalf && n >= enoughToHalve {
		z.nextHalf = now + halfLife
		z.lookups.Add(-(n / 2))
		z.hits.Add(-(z.hits.Load() / 2))
		z.left.Add(-(z.left.Load() / 2))
		z.taken /= 2
		for i := range z.caches {
			z.caches[i].hits /= 2
		}
	}
}

// size returns the size of a simulated cache of a store.
func (z *sizing) size(i int, capacity uint64) uint64 {
	return max(minSampleWeight, uint64(factors[i]*float64(capacity)/float64(uint64(1)<<z.shift)))
}

// fit removes the keys from a simulated cache that are no longer sampled, and sets its size.
func (z *sizing) fit(i int) {
	o, below := z.caches[i].otter, z.below.Load()
	for hash := range o.Keys() {
		if hash >= below {
			o.Invalidate(hash)
		}
	}
	o.SetMaximum(z.size(i, z.applied))
}

// newSimulation returns a cache that evicts like a store, without goroutines.
func newSimulation(memory uint64) *otter.Cache[uint64, *shadow] {
	return otter.Must(&otter.Options[uint64, *shadow]{
		MaximumWeight: memory,
		Weigher:       func(_ uint64, v *shadow) uint32 { return v.weight },
		Executor:      func(f func()) { f() },
	})
}

// Access counts a request in the estimates of Sizes whose entry was looked up with Peek. hit is set
// if it was of use.
func (s *Space) Access(key []byte, hit bool) {
	z, hash := &s.store.sizing, s.hash(key)
	if z.count(hit); !z.sampled(hash) {
		return
	}
	var e *Entry
	if n, ok := s.store.otter.GetEntryQuietly(hash); ok && s.serves(n.Value, math.MinInt64) {
		e = n.Value
	}
	z.looked(s.cache, hash, e, math.MinInt64)
}

// Sizes estimate the hit ratio of a store with other amounts of memory, from the look-ups of the
// last half hours. An access counts half of one that happened half an hour later.
type Sizes struct {
	Lookups  uint64 // of requests
	HitRatio float64
	Sampled  uint64 // look-ups that were simulated
	Keys     int    // keys that were simulated and are in a cache of the largest size
	At       []AtSize
}

// AtSize is the estimate for a size.
type AtSize struct {
	Capacity uint64 // maximum weight of the entries
	HitRatio float64
}

// Sizes returns the estimates for the space's store, for half of its capacity, for its capacity and
// for twice as much. Spaces without a cap have the same.
func (s *Space) Sizes() Sizes { return s.store.sizing.estimates() }

func (z *sizing) estimates() Sizes {
	lookups, hits := float64(z.lookups.Load()), float64(z.hits.Load())
	z.mu.Lock()
	defer z.mu.Unlock()
	out := Sizes{Lookups: uint64(lookups), Sampled: z.taken}
	if z.taken == 0 || lookups == 0 {
		return out
	}
	out.HitRatio = min(1, hits/lookups)
	out.Keys = z.caches[len(factors)-1].otter.EstimatedSize()
	// The differences are taken, rather than the ratios in the sample, since these depend on
	// whether the few keys with most requests are sampled. All sizes hold those.
	all := float64(z.taken+z.left.Load()) / float64(z.taken)
	for i, factor := range factors {
		more := (z.caches[i].hits - z.caches[actual].hits) * all / lookups
		out.At = append(out.At, AtSize{
			Capacity: uint64(factor * float64(z.applied)),
			HitRatio: min(1, max(0, out.HitRatio+more)),
		})
	}
	return out
}
