package cache

import (
	"unsafe"

	"github.com/maypok86/otter/v2"
)

// Attach adds an alternative representation of an entry's payload, which Entry.Variant
// returns for as long as the entry is stored. The variant is copied, counts towards the
// entry's weight and is evicted together with it. Attach reports whether it was added: e
// must still be stored under its key, none of its tags may have moved, and it must not
// have a variant or a value.
//
// Entries are immutable. Attach therefore stores a copy of e, with the same key, payload,
// generations and lifetime. A write that happens at any point of this invalidates the copy
// too, so a variant is never newer than its entry. Some of the hits in the meantime may not
// be counted towards a refresh.
func (s *Space) Attach(e *Entry, variant []byte) bool {
	if len(variant) == 0 || e.carrier() != nil || !s.cache.unmoved(&e.slots, &e.gens, e.tags()) {
		return false
	}
	c := &carrier{variant: uint32(len(variant))}
	e.copyTo(&c.Entry)
	c.ntags |= carrierBit
	// The variant is stored right behind the key, which a look-up reads anyway.
	data := make([]byte, 0, len(e.data)+len(variant))
	data = append(append(append(data, e.Key()...), variant...), e.Payload()...)
	c.data = unsafe.String(unsafe.SliceData(data), len(data))
	attached := false
	s.store.otter.ComputeIfPresent(s.hash(e.Key()), func(old *Entry) (*Entry, otter.ComputeOp) {
		if attached = old == e; attached {
			return &c.Entry, otter.WriteOp
		}
		return old, otter.CancelOp
	})
	if attached {
		s.store.evictFor(&c.Entry)
	}
	return attached
}

// copyTo copies all fields of e except data to the new entry to, which continues the counts of
// its use.
func (e *Entry) copyTo(to *Entry) {
	to.gens, to.slots = e.gens, e.slots
	to.freshUntil, to.staleFor, to.life, to.refreshLead = e.freshUntil, e.staleFor, e.life, e.refreshLead
	to.aux, to.keyLen, to.space, to.ntags, to.kind = e.aux, e.keyLen, e.space, e.ntags, e.kind
	to.use.Store(e.use.Load())
}
