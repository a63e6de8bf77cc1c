package cache

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// entryOverhead is the weight of an entry beside its key and payload, in bytes: the struct
// (96), its node in the store (48), and its share of the hash table and of the policy's
// sketch (23 to 34, depending on how full they are). TestMemoryPerEntry measures it.
const entryOverhead = 172

// Entry is a cached answer. It is immutable once stored, except for its use, and
// may be read without a lock for any length of time. There may be millions of entries: the
// fields are ordered and sized to fill 96 bytes.
type Entry struct {
	data        string // key, a carrier's variant, payload
	gens        [MaxTags]uint64
	slots       [MaxTags]uint32
	freshUntil  int64         // nanoseconds on the cache's clock
	staleFor    uint32        // milliseconds after freshUntil
	life        span          // from the filling to freshUntil
	refreshLead span          // time before freshUntil in which hits count towards a refresh; 0 for never
	use         atomic.Uint32 // the hits in that period, up to hotHits; usedBit; the cost
	aux         uint32
	keyLen      uint32
	space       uint16
	ntags       uint8 // and carrierBit
	kind        uint8
}

// carrier is an entry with a value or a variant. It is a larger struct, so that other
// entries need no room for them. carrierBit in ntags marks it.
type carrier struct {
	Entry
	value   any
	extra   int64  // weight of the value
	variant uint32 // length of the variant
}

const carrierBit = 1 << 7

// carrierOverhead is the additional weight of a carrier, in bytes.
const carrierOverhead = int64(unsafe.Sizeof(carrier{}) - unsafe.Sizeof(Entry{}))

// RemovalListener is implemented by a Filling.Value that is to be notified when its entry is
// evicted, dropped or replaced. Removed is called once, before look-ups stop finding the
// entry, while locks of the cache are held: it must not use the cache.
type RemovalListener interface{ Removed() }

func (c *carrier) removed() {
	if l, ok := c.value.(RemovalListener); ok {
		l.Removed()
	}
}

// Key returns the key of the entry. It must not be changed.
func (e *Entry) Key() []byte {
	k := e.key()
	return unsafe.Slice(unsafe.StringData(k), len(k))
}

// Payload returns the bytes that the service stored. They must not be changed.
func (e *Entry) Payload() []byte {
	p := e.data[e.keyLen:]
	if c := e.carrier(); c != nil {
		p = p[c.variant:]
	}
	return unsafe.Slice(unsafe.StringData(p), len(p))
}

// Variant returns the bytes added by Space.Attach, nil without any. They must not be
// changed.
func (e *Entry) Variant() []byte {
	c := e.carrier()
	if c == nil || c.variant == 0 {
		return nil
	}
	f := e.data[e.keyLen:][:c.variant]
	return unsafe.Slice(unsafe.StringData(f), len(f))
}

// Kind returns Filling.Kind.
func (e *Entry) Kind() uint8 { return e.kind }

// Aux returns Filling.Aux, for example a checksum.
func (e *Entry) Aux() uint32 { return e.aux }

// Value returns Filling.Value, nil without one.
func (e *Entry) Value() any {
	if c := e.carrier(); c != nil {
		return c.value
	}
	return nil
}

// carrier returns the struct that e is the beginning of, nil if e is a plain entry.
func (e *Entry) carrier() *carrier {
	if e.ntags&carrierBit == 0 {
		return nil
	}
	return (*carrier)(unsafe.Pointer(e))
}

// tags returns the number of tags that the entry depends on.
func (e *Entry) tags() uint8 { return e.ntags &^ carrierBit }

// TTL returns how long the entry remains fresh after now (Cache.At); negative if it has
// expired.
func (e *Entry) TTL(now int64) time.Duration { return time.Duration(e.freshUntil - now) }

// Age returns the time from the filling of the entry until now (Cache.At), to a millisecond and a
// thousandth of its lifetime.
func (e *Entry) Age(now int64) time.Duration {
	return max(0, e.life.duration()-e.TTL(now))
}

func (e *Entry) key() string { return e.data[:e.keyLen] }

// weight returns the entry's share of the heap. The allocator's size classes are an eighth
// apart, so rounding up costs a sixteenth on average.
func (e *Entry) weight() uint32 {
	n := int64(len(e.data))
	n += n/16 + entryOverhead
	if c := e.carrier(); c != nil {
		n += carrierOverhead + c.extra
	}
	return uint32(min(n, math.MaxUint32))
}

// hotHits is the number of hits late in its life that make an entry worth a refresh.
const hotHits = 3

// The bits of Entry.use.
const (
	lateHits  = 3 // mask of the number of hits late in the life, which is at most hotHits
	usedBit   = 1 << 2
	costShift = 3
	maxCost   = math.MaxUint32 >> costShift
)

// Cost returns Filling.Cost.
func (e *Entry) Cost() uint32 { return e.use.Load() >> costShift }

// FirstUse reports, once in the entry's life, that a request uses it which the filling was not
// made for. It is false for an entry whose filling was free.
func (e *Entry) FirstUse() bool {
	return e.use.Load()&usedBit == 0 && e.use.Or(usedBit)&usedBit == 0
}

// refreshDue counts a hit and reports, once in the entry's life, whether the entry should be
// refreshed: it expires soon and is still requested.
func (e *Entry) refreshDue(now int64) bool {
	if e.refreshLead == 0 || now < e.freshUntil-int64(e.refreshLead.duration()) {
		return false
	}
	for {
		use := e.use.Load()
		if use&lateHits == hotHits {
			return false
		}
		if e.use.CompareAndSwap(use, use+1) {
			return (use+1)&lateHits == hotHits
		}
	}
}
