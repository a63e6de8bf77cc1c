package store

import "github.com/kasoku/kasoku/internal/cache"

// Fence is what is noted of a URL before its origin is asked. It shows later whether a write
// or a purge has come in between.
type Fence struct {
	// Stamp has the generations of the URL's tag, and of others.
	Stamp cache.Stamp
	purge uint64 // the number of the newest purge
}

// Fence notes the state of the URL under key, and of more tags that its answer depends on.
func (s *Store) Fence(key []byte, more ...cache.Tag) Fence {
	purge := s.purges.head.Load()
	return Fence{Stamp: s.space.Cache().Note(append([]cache.Tag{URLTag(key)}, more...)...), purge: purge}
}

// Overtaken reports whether a write or a purge has touched what is under key since at was
// noted. h is the head of the response if it is known: without it every purge by a tag counts.
func (s *Store) Overtaken(at *Fence, key []byte, h *Head) bool {
	if !s.space.Cache().Current(&at.Stamp) {
		return true
	}
	tags := &Tags{all: true}
	if h != nil {
		tags = &h.Tags
	}
	v, _ := s.purges.since(at.purge, key, tags)
	return v != untouched
}

// InvalidateSince puts keys out of reach, as Invalidate does. It reports whether nothing else
// has put the first of them out of reach since at was noted, and then moves at behind this
// invalidation.
func (s *Store) InvalidateSince(at *Fence, keys ...[]byte) (alone bool) {
	if at.Stamp, alone = s.space.Cache().Supersede(at.Stamp); alone {
		_ = s.applyToDisk(keys[0]) // the tier has reported it
		keys = keys[1:]
	}
	s.Invalidate(keys...)
	return alone
}
