package cache

import (
	"unsafe"

	"github.com/maypok86/otter/v2"
)

// Attach puts another form of an entry's payload beside it: look-ups find it from now on as
// Entry.Form, for as long as the entry is stored, and it goes with it. form is copied and
// weighed like the payload. Attach tells whether the entry was still the one that is stored
// under its key, with no tag moved, and had neither a form nor a value yet.
//
// Entries are immutable: the one that is stored afterwards is another, with the key and
// payload of e and everything that tells whether e is good. So a write that comes at any
// point of this leaves nothing to find: a form is no newer than its entry. Of the hits that
// come meanwhile some may not be counted towards a refresh.
func (s *Space) Attach(e *Entry, form []byte) bool {
	if len(form) == 0 || e.carrier() != nil || !s.cache.unmoved(&e.slots, &e.gens, e.tags()) {
		return false
	}
	c := &carrier{variant: uint32(len(form))}
	e.copyTo(&c.Entry)
	c.ntags |= carrierBit
	// Close behind the key, which a look-up reads anyhow.
	data := make([]byte, 0, len(e.data)+len(form))
	data = append(append(append(data, e.Key()...), form...), e.Payload()...)
	c.data = unsafe.String(unsafe.SliceData(data), len(data))
	attached := false
	s.store.otter.ComputeIfPresent(s.hash(e.Key()), func(old *Entry) (*Entry, otter.ComputeOp) {
		if attached = old == e; attached {
			return &c.Entry, otter.WriteOp
		}
		return old, otter.CancelOp
	})
	return attached
}

// copyTo makes to, which is new, another e but for its data. Hits are counted on from where
// e stands.
func (e *Entry) copyTo(to *Entry) {
	to.gens, to.slots = e.gens, e.slots
	to.freshUntil, to.staleFor, to.refreshLead = e.freshUntil, e.staleFor, e.refreshLead
	to.aux, to.keyLen, to.space, to.ntags, to.kind = e.aux, e.keyLen, e.space, e.ntags, e.kind
	to.lateHits.Store(e.lateHits.Load())
}
