package cache

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/maypok86/otter/v2"
)

// Space is a service's part of the cache, with its own name space of keys. A space with a
// cap has its own store, taken out of the shared memory; the others use the shared store.
type Space struct {
	cache   *Cache
	store   *store
	id      uint16
	own     bool
	closed  bool // guarded by Cache.memoryMu
	flights flights
}

// NewSpace returns a new space. cap is the maximum weight of its entries, in bytes; with 0
// it shares all memory that is not reserved by caps.
func (c *Cache) NewSpace(cap int64) (*Space, error) {
	id := c.spaces.Add(1)
	if id > math.MaxUint16 {
		return nil, errors.New("cache: too many spaces were made")
	}
	s := &Space{cache: c, store: c.shared, id: uint16(id)}
	s.flights.init()
	if cap == 0 {
		return s, nil
	}
	c.memoryMu.Lock()
	defer c.memoryMu.Unlock()
	if whole := c.shared.memory; cap < 0 || cap >= whole {
		return nil, fmt.Errorf("cache: a cap of %d bytes does not fit into the %d bytes that are left", cap, whole)
	}
	own, err := newStore(cap, &c.onEviction)
	if err != nil {
		return nil, err
	}
	c.shared.memory -= cap
	c.shared.resize()
	c.capped = append(c.capped, own)
	s.store, s.own = own, true
	return s, nil
}

// Close returns a capped space's memory. The space must no longer be in use.
func (s *Space) Close() {
	s.cache.memoryMu.Lock()
	defer s.cache.memoryMu.Unlock()
	if !s.own || s.closed {
		return
	}
	s.closed = true
	s.cache.shared.memory += s.store.memory
	s.cache.shared.resize()
	s.cache.capped = slices.DeleteFunc(s.cache.capped, func(o *store) bool { return o == s.store })
	s.store.close()
}

// Reserve takes n bytes of the memory for entries for other data of the service, or returns
// them if n is negative. If more is reserved than there is, nothing is stored until some of
// it is returned. Everything must be returned before Close.
func (s *Space) Reserve(n int64) {
	s.cache.memoryMu.Lock()
	defer s.cache.memoryMu.Unlock()
	s.store.reserved += n
	s.store.resize()
}

// ReserveInFlight is Reserve for bodies in flight, which leave at least a quarter of the
// memory to entries.
func (s *Space) ReserveInFlight(n int64) {
	s.cache.memoryMu.Lock()
	defer s.cache.memoryMu.Unlock()
	s.store.bodies += n
	s.store.resize()
}

// OnEviction sets the function that is called with each entry of the space that is evicted to make
// room, while locks of the cache are held: it must not use the cache. It is called before the space
// is used.
func (s *Space) OnEviction(f func(*Entry)) {
	s.cache.memoryMu.Lock()
	defer s.cache.memoryMu.Unlock()
	next := maps.Clone(*s.cache.onEviction.Load())
	next[s.id] = f
	s.cache.onEviction.Store(&next)
}

// Cache returns the cache that the space belongs to.
func (s *Space) Cache() *Cache { return s.cache }

// Found is the result of a look-up.
type Found uint8

// The results of a look-up. Only Fresh and Stale have an entry.
const (
	Absent      Found = iota // nothing is stored
	Fresh                    // may be served
	Stale                    // past its freshness, within its stale time; no write since
	Expired                  // past its stale time
	Invalidated              // a write, a purge or a feed has moved one of its tags
	Unleased                 // this node has no lease of its cluster: nothing may be served
)

// hash returns the store's key of an entry, which differs between spaces and between eras.
func (s *Space) hash(key []byte) uint64 { return s.hashIn(s.cache.era.Load(), key) }

// hashIn is hash for an era that the caller has recorded.
func (s *Space) hashIn(era uint32, key []byte) uint64 { return s.cache.hash(era, s.id, key) }

// hash returns the store's key of an entry of an era and a space. The factors are odd, so
// that no two eras of a space share a hash of the same key.
func (c *Cache) hash(era uint32, space uint16, key []byte) uint64 {
	return maphash.Bytes(c.seed, key) + uint64(space)*0x9e3779b97f4a7c15 + uint64(era)*0xd6e8feb86659fd93
}

// Lookup returns the entry under key. now is the time on the cache's clock. refresh is true
// for the single hit that should start a refresh.
func (s *Space) Lookup(key []byte, now int64) (e *Entry, found Found, refresh bool) {
	hash := s.hash(key)
	if e, found = s.findHashed(hash, key, now); found == Unleased {
		return nil, found, false
	}
	usable := e
	if found != Fresh {
		usable = nil
	}
	s.store.sizing.count(usable != nil)
	s.store.sizing.looked(s.cache, hash, usable, now)
	return e, found, found == Fresh && e.refreshDue(now)
}

// Peek is Lookup for reports: the hit does not count towards a refresh, or in estimates.
func (s *Space) Peek(key []byte, now int64) (*Entry, Found) { return s.find(key, now) }

// find is Lookup without the count of hits.
func (s *Space) find(key []byte, now int64) (*Entry, Found) {
	return s.findHashed(s.hash(key), key, now)
}

// findHashed is find for a key with this hash.
func (s *Space) findHashed(hash uint64, key []byte, now int64) (*Entry, Found) {
	if !s.cache.Serves(now) {
		return nil, Unleased
	}
	e, ok := s.store.otter.GetIfPresent(hash)
	switch {
	case !ok || e.space != s.id || e.key() != string(key):
		return nil, Absent
	case !s.cache.unmoved(&e.slots, &e.gens, e.tags()):
		return nil, Invalidated
	case now < e.freshUntil:
		return e, Fresh
	case now < e.freshUntil+int64(e.staleFor)*int64(time.Millisecond):
		return e, Stale
	}
	return nil, Expired
}

// Filling is the result of a fill.
type Filling struct {
	Payload []byte
	Kind    uint8
	Aux     uint32
	TTL     time.Duration // how long the entry is fresh
	Stale   time.Duration // how much longer the entry may be served if the origin fails
	Refresh time.Duration // how long before its expiry a hot entry is refreshed; 0 for never
	NoStore bool          // the answer is only for the waiters
	Extra   any           // passed to the waiters, never stored

	// Cost is the price of another answer from the origin, in a unit of the service, up to 2^29.
	// Free is set if this one has cost nothing, for example because a write has the value.
	Cost uint32
	Free bool

	// Value is kept beside the payload and returned by Entry.Value. It is read without a
	// lock, so it must not change once it is stored, except through fields that it guards
	// itself. It may be a RemovalListener. Weight is its share of the heap, in bytes.
	Value  any
	Weight int64
}

// Store stores f under key if no tag has moved since st was recorded, and the cache was not
// emptied. It returns the entry in any case, for the waiters.
func (s *Space) Store(st Stamp, key []byte, f *Filling) (e *Entry, stored bool) {
	if fillsUnfenced {
		s.cache.renew(&st)
	}
	e = s.newEntry(st, key, f)
	switch {
	case f.NoStore || f.TTL <= 0:
	case !st.Settled:
		s.cache.stats.unsettled.Add(1)
	case !s.cache.Current(&st):
		s.cache.stats.overtaken.Add(1)
	default:
		hash := s.hashIn(st.era, key) // unreachable if the era has moved just now
		old, first := s.store.otter.Set(hash, e)
		s.store.sizing.stored(s.cache, hash, e, !first && s.serves(old, s.cache.Now()))
		s.store.evictFor(e)
		s.cache.stats.stored.Add(1)
		return e, true
	}
	return e, false
}

// Durations are bounded so that their sums do not overflow the clock.
const (
	forever = 50 * 365 * 24 * time.Hour
	maxSpan = math.MaxUint32 * time.Millisecond // 49 days
)

// milliseconds returns d in milliseconds, rounded up and bounded by maxSpan.
func milliseconds(d time.Duration) uint32 {
	d = min(max(0, d), maxSpan)
	return uint32((d + time.Millisecond - 1) / time.Millisecond)
}

func (s *Space) newEntry(st Stamp, key []byte, f *Filling) *Entry {
	data := make([]byte, 0, len(key)+len(f.Payload))
	data = append(append(data, key...), f.Payload...)
	e := f.blankEntry()
	e.data = unsafe.String(unsafe.SliceData(data), len(data))
	e.slots, e.gens, e.ntags = st.slots, st.gens, e.ntags|st.n
	e.keyLen, e.space, e.kind, e.aux = uint32(len(key)), s.id, f.Kind, f.Aux
	e.freshUntil, e.staleFor, e.life = s.cache.Now()+int64(min(f.TTL, forever)), milliseconds(f.Stale), spanOf(f.TTL)
	if f.Refresh > 0 && f.Refresh < f.TTL {
		e.refreshLead = spanOf(f.Refresh)
	}
	use := min(f.Cost, maxCost) << costShift
	if f.Free {
		use |= usedBit
	}
	e.use.Store(use)
	return e
}

// blankEntry returns a new entry, a carrier if f has a value.
func (f *Filling) blankEntry() *Entry {
	if f.Value == nil {
		return &Entry{}
	}
	c := &carrier{value: f.Value, extra: f.Weight}
	c.ntags = carrierBit
	return &c.Entry
}

// Drop removes the entry under key, if it is e.
func (s *Space) Drop(key []byte, e *Entry) bool {
	dropped, hash := false, s.hash(key)
	s.store.otter.ComputeIfPresent(hash, func(old *Entry) (*Entry, otter.ComputeOp) {
		if dropped = old == e; dropped {
			return nil, otter.InvalidateOp
		}
		return old, otter.CancelOp
	})
	if dropped {
		s.store.sizing.dropped(hash)
	}
	return dropped
}

// Entries calls yield with the entries of this space, in no particular order, until yield
// returns false. Entries stored or removed meanwhile may be included or not.
func (s *Space) Entries(yield func(*Entry) bool) {
	for _, e := range s.store.otter.All() {
		if e.space == s.id && !yield(e) {
			return
		}
	}
}
