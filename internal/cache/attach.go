package cache

import "github.com/maypok86/otter/v2"

// Attach gives an entry a value that it was stored without, such as another form of its
// payload: look-ups find it from now on as Entry.Value, for as long as the entry is stored,
// and it goes with it. weight is what the value takes of the heap, in bytes; it counts like
// Filling.Weight. Attach tells whether the entry was still the one that is stored under its
// key, with no tag moved, and had no value yet.
//
// Entries are immutable: the one that is stored afterwards is another, which shares the
// key and payload of e, and with it everything that tells whether e is good. So a write
// that comes at any point of this leaves nothing to find: a value is no newer than its entry.
// Of the hits that come meanwhile some may not be counted towards a refresh.
func (s *Space) Attach(e *Entry, value any, weight int64) bool {
	if e.carrier() != nil || !s.cache.stand(&e.slots, &e.gens, e.tags()) {
		return false
	}
	c := &carrier{value: value, extra: weight}
	e.copyTo(&c.Entry)
	c.ntags |= carries
	attached := false
	s.store.otter.ComputeIfPresent(s.hash(e.Key()), func(old *Entry) (*Entry, otter.ComputeOp) {
		if attached = old == e; attached {
			return &c.Entry, otter.WriteOp
		}
		return old, otter.CancelOp
	})
	return attached
}

// copyTo makes to, which is new, another e. Hits are counted on from where e stands.
func (e *Entry) copyTo(to *Entry) {
	to.data, to.gens, to.slots = e.data, e.gens, e.slots
	to.freshUntil, to.staleFor, to.refreshLead = e.freshUntil, e.staleFor, e.refreshLead
	to.aux, to.keyLen, to.space, to.ntags, to.kind = e.aux, e.keyLen, e.space, e.ntags, e.kind
	to.lateHits.Store(e.lateHits.Load())
}
