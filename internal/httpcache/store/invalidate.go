package store

import (
	"context"

	"github.com/kasoku/kasoku/internal/cache"
)

// Invalidate invalidates all variants under keys, and fills in progress, as the success of
// an unsafe method does, at all members of a cluster. It is called before the client is
// answered. After an error other members may serve old responses for a while; they get the
// invalidation later.
func (s *Store) Invalidate(ctx context.Context, keys ...[]byte) error {
	tags := urlTags(keys)
	err := s.space.Cache().Invalidate(ctx, cache.Change{Cause: cache.ByWrite, Tags: tags})
	_ = s.applyToDisk(keys...) // the tier logs it
	if err != nil {
		s.late.add(s, tags)
	}
	return err
}

// InvalidateSince invalidates keys, as Invalidate does. It reports whether nothing else has
// invalidated the first of them since at was noted; then it also advances at past this
// invalidation.
func (s *Store) InvalidateSince(ctx context.Context, at *Fence, keys ...[]byte) (alone bool, err error) {
	tags := at.tags[:]
	if len(keys) > 1 || s.space.Cache().Coordinated() { // other members may get them later
		tags = urlTags(keys)
	} else {
		tags[0] = URLTag(keys[0])
	}
	at.Stamp, alone, err = s.space.Cache().InvalidateSince(ctx, at.Stamp, tags[0], cache.Change{Cause: cache.ByWrite, Tags: tags[1:]})
	_ = s.applyToDisk(keys...) // the tier logs it
	if err != nil {
		s.late.add(s, tags)
	}
	return alone, err
}

// Unknown is called after a write of key with an unknown outcome: nothing of the URL is
// stored until it is over. Other members of a cluster get to know of it later.
func (s *Store) Unknown(key []byte) {
	c, tags := s.space.Cache(), urlTags([][]byte{key})
	c.QuarantineUnknown(tags...)
	_ = s.applyToDisk(key) // the tier logs it
	if c.Coordinated() {
		s.late.add(s, tags)
	}
}

func urlTags(keys [][]byte) []cache.Tag {
	tags := make([]cache.Tag, len(keys))
	for i, k := range keys {
		tags[i] = URLTag(k)
	}
	return tags
}
