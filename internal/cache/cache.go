package cache

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/kasoku/kasoku/internal/inflight"
)

// Config holds the size of the cache and the delays of its origins.
type Config struct {
	// Memory is the maximum weight of all entries together, in bytes. Default 1 GiB.
	Memory int64
	// Generations is the number of generation counters, rounded up to a power of two, of 16
	// bytes each. More counters mean fewer needless misses when many different things are
	// written. Unused counters take no memory. Default 4,194,304.
	Generations int
	// Settle is the time after a write during which a fill requests a strongly consistent
	// read: the maximum lag of the origin's replicas. Default 5s.
	Settle time.Duration
	// Quarantine is the time during which nothing is cached under the tags of a write with
	// an unknown outcome: the maximum time after which the origin may still apply a request
	// whose connection was lost. Default 30s.
	Quarantine time.Duration
	// FillTimeout bounds a fill, independently of its waiters. Default 30s.
	FillTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Settle = cmp.Or(c.Settle, 5*time.Second)
	c.Quarantine = cmp.Or(c.Quarantine, 30*time.Second)
	c.FillTimeout = cmp.Or(c.FillTimeout, 30*time.Second)
	c.Memory = cmp.Or(c.Memory, 1<<30)
	c.Generations = cmp.Or(c.Generations, 1<<22)
	return c
}

// Cache holds the generation counters and the memory that all services share.
type Cache struct {
	slots       []slot // of ordinary tags, followed by broad tags
	mask        uint32
	start       time.Time
	settle      int64
	quarantine  int64
	fillTimeout time.Duration
	shared      *store
	memoryMu    sync.Mutex  // guards the division of the shared memory
	closed      atomic.Bool // set with memoryMu held
	capped      []*store    // of spaces with a cap; guarded by memoryMu
	spaces      atomic.Uint32
	onEviction  evictionFuncs
	seed        maphash.Seed
	stats       counters
	budget      *inflight.Budget
	membership
}

// New returns an empty cache.
func New(cfg Config) (*Cache, error) {
	cfg = cfg.withDefaults()
	if cfg.Memory < 0 || cfg.Settle < 0 || cfg.Quarantine < 0 || cfg.FillTimeout < 0 || cfg.Generations < 0 {
		return nil, fmt.Errorf("cache: memory, generations, settle, quarantine and the fill timeout must not be negative")
	}
	if cfg.Generations > 1<<30 {
		return nil, fmt.Errorf("cache: %d generations are too many; at most 1,073,741,824", cfg.Generations)
	}
	n := 1 << bits.Len(uint(cfg.Generations-1))
	c := &Cache{
		slots:       newTable(n + broadSlots),
		mask:        uint32(n - 1),
		start:       time.Now(),
		settle:      int64(cfg.Settle),
		quarantine:  int64(cfg.Quarantine),
		fillTimeout: cfg.FillTimeout,
		seed:        maphash.MakeSeed(),
		budget:      inflight.New(cfg.Memory),
	}
	c.onEviction.Store(&map[uint16]func(*Entry){})
	var err error
	if c.shared, err = newStore(cfg.Memory, &c.onEviction); err != nil {
		return nil, err
	}
	c.budget.Follow(c.makeRoom)
	c.lease.Store(math.MaxInt64)
	c.strongUntil.Store(c.settle) // writes before the start are unknown
	return c, nil
}

// Close stops the background work of the cache. Look-ups remain safe afterwards.
func (c *Cache) Close() {
	c.memoryMu.Lock()
	c.closed.Store(true)
	c.memoryMu.Unlock()
	c.running.Wait()
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	c.shared.close()
}

// makeRoom shrinks the shared store to the memory that is left by the held bytes in flight.
func (c *Cache) makeRoom(held int64) {
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	if !c.closed.Load() {
		c.shared.inFlight = held
		c.shared.resize()
	}
}

// Budget returns the budget that bounds the bytes in flight, beside the stored ones.
func (c *Cache) Budget() *inflight.Budget { return c.budget }

// Now returns the time on the cache's clock: nanoseconds since the cache was created.
func (c *Cache) Now() int64 { return int64(time.Since(c.start)) }

// At converts a time with a monotonic reading to the cache's clock.
func (c *Cache) At(t time.Time) int64 { return int64(t.Sub(c.start)) }

// store is a W-TinyLFU cache, weighed in bytes. Its keys are seeded hashes, so a node is
// small and its only pointer is the entry. A look-up compares the whole key; two keys with
// the same hash evict each other. The store has no clock: an expired entry is no longer
// looked up and is evicted when its memory is needed.
type store struct {
	otter    *otter.Cache[uint64, *Entry]
	evicted  *evictions
	memory   int64 // in bytes; this and the fields below are guarded by Cache.memoryMu
	reserved int64 // part of memory that is reserved for other data than entries
	// bodies are the bytes that the services of its spaces hold for bodies in flight.
	// inFlight is everything that the Budget counts, bodies included. A quarter of the
	// memory is always left to entries, so that hits continue while other requests cause a
	// shortage.
	bodies, inFlight int64
	sizing           sizing
}

// evictionFuncs are the functions of Space.OnEviction by the ID of their space.
type evictionFuncs = atomic.Pointer[map[uint16]func(*Entry)]

func newStore(memory int64, onEviction *evictionFuncs) (*store, error) {
	s := &store{evicted: &evictions{}, memory: memory}
	o, err := otter.New(&otter.Options[uint64, *Entry]{
		MaximumWeight: uint64(memory),
		Weigher:       func(_ uint64, e *Entry) uint32 { return e.weight() },
		StatsRecorder: s.evicted,
		OnAtomicDeletion: func(d otter.DeletionEvent[uint64, *Entry]) {
			if c := d.Value.carrier(); c != nil {
				c.removed()
			}
			if f := (*onEviction.Load())[d.Value.space]; f != nil && d.WasEvicted() {
				f(d.Value)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache: making a store of %d bytes: %w", memory, err)
	}
	s.otter = o
	s.sizing.init(uint64(memory))
	return s, nil
}

// resize sets the maximum weight of the entries to the memory that is not used otherwise.
// The caller holds Cache.memoryMu.
func (s *store) resize() {
	taken := s.reserved + min(max(s.bodies, s.inFlight), s.memory-s.memory/4)
	capacity := uint64(max(0, s.memory-taken))
	s.otter.SetMaximum(capacity)
	s.sizing.capacity.Store(capacity)
}

// evictFor evicts what has to make room for e, which was stored, if e is large. Otherwise another
// goroutine evicts, which can be too late if many goroutines can run and all store large entries:
// without this a process with one CPU and a memory of 64 MiB grew to 380 MiB.
func (s *store) evictFor(e *Entry) {
	if e.weight() >= large {
		s.otter.CleanUp()
	}
}

// large is the weight, in bytes, from which storing an entry costs more than evicting others.
const large = 64 << 10

func (s *store) close() {
	s.otter.InvalidateAll()
	s.otter.StopAllGoroutines()
}
