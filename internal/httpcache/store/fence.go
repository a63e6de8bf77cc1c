package store

import "github.com/kasoku/kasoku/internal/cache"

// Fence is the state of a URL's generations and purges at one moment, usually before its
// origin is asked. It shows later whether a write or a purge has happened since.
type Fence struct {
	// Stamp holds the generations of the URL's tag, and of the other tags.
	Stamp cache.Stamp
	purge uint64 // the number of the newest purge
	tags  [1]cache.Tag
}

// Fence returns the present state of the URL under key, and of more tags that its answer
// depends on.
func (s *Store) Fence(key []byte, more ...cache.Tag) Fence {
	purge := s.purges.head.Load()
	return Fence{Stamp: s.space.Cache().Note(append([]cache.Tag{URLTag(key)}, more...)...), purge: purge}
}

// Overtaken reports whether a write or a purge has touched the response under key since at
// was noted. h is its head, or nil before it is known: then every purge that depends on it counts.
func (s *Store) Overtaken(at *Fence, key []byte, h *Head) bool {
	if !s.space.Cache().Current(&at.Stamp) {
		return true
	}
	v, _ := s.purges.since(at.purge, subject{key, h})
	return v != untouched
}
