package cache

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

// entryOverhead is what an entry weighs beside its key and payload, in bytes:
// itself (96), its node in the store (48), its share of the hash table and of
// the policy's sketch (23 to 34, by how full they are). TestMemoryPerEntry
// measures it.
const entryOverhead = 172

// Entry is a cached answer. It is immutable once stored, but for its count of
// hits. Services read it without a lock for as long as they like. There may be
// millions: its fields are ordered and sized to fill 96 bytes.
type Entry struct {
	data        string // key, a carrier's form, payload
	gens        [MaxTags]uint64
	slots       [MaxTags]uint32
	freshUntil  int64         // nanoseconds since the cache was made
	staleFor    uint32        // milliseconds after freshUntil
	refreshLead uint32        // hits in this last part of its life count towards a refresh; milliseconds, 0 for never
	lateHits    atomic.Uint32 // hits in that part, up to hotHits or a little more
	aux         uint32
	keyLen      uint32
	space       uint16
	ntags       uint8 // and the bit carries
	kind        uint8
}

// carrier is an entry that carries a value or a form: larger, so that all others need
// no room for one. The bit carries in its ntags tells it from them.
type carrier struct {
	Entry
	value   any
	extra   int64  // what the value weighs
	variant uint32 // how long the form is
}

const carrierBit = 1 << 7

// carrierOverhead is what a carrier weighs beside an entry, in bytes.
const carrierOverhead = int64(unsafe.Sizeof(carrier{}) - unsafe.Sizeof(Entry{}))

// RemovalListener is a Filling.Value that is told when its entry is no longer stored: thrown out,
// dropped or replaced. It is told once, and before the entry can be looked up no more,
// while locks of the cache are held: it must not use the cache.
type RemovalListener interface{ Removed() }

func (c *carrier) removed() {
	if l, ok := c.value.(RemovalListener); ok {
		l.Removed()
	}
}

// Key returns what the entry is stored under. It must not be changed.
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

// Variant returns what Space.Attach has put beside the payload, nil if nothing. It must not be
// changed.
func (e *Entry) Variant() []byte {
	c := e.carrier()
	if c == nil || c.variant == 0 {
		return nil
	}
	f := e.data[e.keyLen:][:c.variant]
	return unsafe.Slice(unsafe.StringData(f), len(f))
}

// Kind returns the service's own mark.
func (e *Entry) Kind() uint8 { return e.kind }

// Aux returns the service's own word, a checksum for example.
func (e *Entry) Aux() uint32 { return e.aux }

// Value returns what the service stored as Filling.Value, nil if nothing.
func (e *Entry) Value() any {
	if c := e.carrier(); c != nil {
		return c.value
	}
	return nil
}

// carrier returns the larger struct that e is the beginning of, nil if e is an
// entry and no more.
func (e *Entry) carrier() *carrier {
	if e.ntags&carrierBit == 0 {
		return nil
	}
	return (*carrier)(unsafe.Pointer(e))
}

// tags is how many tags the entry depends on.
func (e *Entry) tags() uint8 { return e.ntags &^ carrierBit }

// TTL returns how long the entry stays fresh, seen from now (Cache.At); negative
// once it is over.
func (e *Entry) TTL(now int64) time.Duration { return time.Duration(e.freshUntil - now) }

func (e *Entry) key() string { return e.data[:e.keyLen] }

// weight is what the entry takes of the heap. The allocator's size classes are an
// eighth apart, so a sixteenth is what rounding up costs on average.
func (e *Entry) weight() uint32 {
	n := int64(len(e.data))
	n += n/16 + entryOverhead
	if c := e.carrier(); c != nil {
		n += carrierOverhead + c.extra
	}
	return uint32(min(n, math.MaxUint32))
}

// hotHits is how many hits near its end make an entry worth a refresh.
const hotHits = 3

// refreshDue counts a hit and tells, once in the entry's life, that it should be
// refreshed: it nears its end and is still asked for.
func (e *Entry) refreshDue(now int64) bool {
	if e.refreshLead == 0 || now < e.freshUntil-int64(e.refreshLead)*int64(time.Millisecond) || e.lateHits.Load() >= hotHits {
		return false
	}
	return e.lateHits.Add(1) == hotHits
}
