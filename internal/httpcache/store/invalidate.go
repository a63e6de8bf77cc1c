package store

import (
	"context"

	"github.com/kasoku/kasoku/internal/cache"
)

// Invalidate invalidates all variants under keys, and fills in progress, as the success of
// an unsafe method does. It is called before the client is answered.
func (s *Store) Invalidate(keys ...[]byte) {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByWrite, Tags: urlTags(keys)})
	_ = s.applyToDisk(keys...) // the tier logs it
}

// Begin declares a write of keys before the origin is asked: stored responses are invalid
// from now on, and responses read before the end of the write are not stored. It must be
// ended with the Write's Commit or Unknown. After an error the write must not be sent.
func (s *Store) Begin(ctx context.Context, keys ...[]byte) (*cache.Write, error) {
	w, err := s.space.Cache().Begin(ctx, urlTags(keys), nil)
	_ = s.applyToDisk(keys...) // the tier logs it
	return w, err
}

func urlTags(keys [][]byte) []cache.Tag {
	tags := make([]cache.Tag, len(keys))
	for i, k := range keys {
		tags[i] = URLTag(k)
	}
	return tags
}
