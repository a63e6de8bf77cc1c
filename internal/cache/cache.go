package cache

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/kasoku/kasoku/internal/inflight"
)

// Config says how large the cache is and how long an origin needs to settle.
type Config struct {
	// Memory is how many bytes all entries may weigh together. Default 1 GiB.
	Memory int64
	// Generations is how many generation counters there are, rounded up to a
	// power of two; 16 bytes each. More of them make fewer needless misses when
	// many different things are written; those never used cost no memory. Default
	// 4,194,304.
	Generations int
	// Settle is how long after a write a fill asks for a strongly consistent
	// read: the longest time that a replica of the origin lags. Default 5s.
	Settle time.Duration
	// Quarantine is how long nothing is cached under the tags of a write with
	// an unknown outcome: the longest time that the origin may still apply a
	// request whose connection was lost. Default 30s.
	Quarantine time.Duration
	// FillTimeout bounds a fill, whoever waits for it. Default 30s.
	FillTimeout time.Duration
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.Settle, 5*time.Second)
	set(&c.Quarantine, 30*time.Second)
	set(&c.FillTimeout, 30*time.Second)
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	if c.Generations == 0 {
		c.Generations = 1 << 22
	}
	return c
}

// Cache holds the generations and the memory that all services share.
type Cache struct {
	slots       []slot // of tags, then of broad tags
	mask        uint32
	start       time.Time
	settle      int64
	quarantine  int64
	fillTimeout time.Duration
	shared      *store
	memoryMu    sync.Mutex // one at a time takes from the shared memory or gives back
	closed      bool       // guarded by caps
	spaces      atomic.Uint32
	seed        maphash.Seed
	stats       counters
	budget      *inflight.Budget
}

// New makes an empty cache.
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
	var err error
	if c.shared, err = newStore(cfg.Memory); err != nil {
		return nil, err
	}
	c.budget.Follow(c.makeRoom)
	return c, nil
}

// Close ends the background work of the cache. Lookups stay harmless.
func (c *Cache) Close() {
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	c.closed = true
	c.shared.close()
}

// makeRoom has the entries of all spaces without a cap give way to what is in flight.
func (c *Cache) makeRoom(held int64) {
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	if !c.closed {
		c.shared.inFlight = held
		c.shared.resize()
	}
}

// Budget bounds what is in flight beside what is stored.
func (c *Cache) Budget() *inflight.Budget { return c.budget }

// Now is the time on the cache's clock: nanoseconds since it was made.
func (c *Cache) Now() int64 { return int64(time.Since(c.start)) }

// At converts a time with a monotonic reading to the cache's clock.
func (c *Cache) At(t time.Time) int64 { return int64(t.Sub(c.start)) }

// store is one W-TinyLFU cache, weighed in bytes. Its keys are seeded hashes, so
// that a node is small and holds no pointer but the entry; a look-up compares the
// whole key, and two keys of one hash merely push each other out. It knows no time:
// an entry whose time is over is not asked for any more and so leaves when its
// memory is wanted.
type store struct {
	otter    *otter.Cache[uint64, *Entry]
	evicted  *evictions
	memory   int64 // in bytes; what stands here is guarded by cache.caps
	reserved int64 // of it, for what is no entry
	// bodies is what the services of its spaces hold of bodies that are no entries, and
	// inFlight all that the Budget counts, with what is lent. A quarter of the memory is left
	// to entries: clients that ask for these are answered while others cause a shortage.
	bodies, inFlight int64
}

func newStore(memory int64) (*store, error) {
	s := &store{evicted: &evictions{}, memory: memory}
	o, err := otter.New(&otter.Options[uint64, *Entry]{
		MaximumWeight: uint64(memory),
		Weigher:       func(_ uint64, e *Entry) uint32 { return e.weight() },
		StatsRecorder: s.evicted,
		OnAtomicDeletion: func(d otter.DeletionEvent[uint64, *Entry]) {
			if c := d.Value.carrier(); c != nil {
				c.removed()
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("cache: making a store of %d bytes: %w", memory, err)
	}
	s.otter = o
	return s, nil
}

// resize has the entries fill what is not taken otherwise. cache.caps is held.
func (s *store) resize() {
	taken := s.reserved + min(max(s.bodies, s.inFlight), s.memory-s.memory/4)
	s.otter.SetMaximum(uint64(max(0, s.memory-taken)))
}

func (s *store) close() {
	s.otter.InvalidateAll()
	s.otter.StopAllGoroutines()
}
