package memcached

import (
	"context"
	"fmt"

	"github.com/kasoku/kasoku/internal/cache"
)

// tagger makes the cache tags of copies in this process.
type tagger struct {
	prefix string
	all    cache.Tag // of all copies of the service
}

func newTagger(service string) tagger {
	prefix := "memcached\x00" + service + "\x00"
	return tagger{prefix, cache.BroadTagOf([]byte(prefix))}
}

// of returns the tags of copies of the value under the key wire.
func (t *tagger) of(wire []byte) []cache.Tag { return []cache.Tag{t.all, t.key(wire)} }

// key returns the tag of a key alone.
func (t *tagger) key(wire []byte) cache.Tag {
	return cache.TagOf(append([]byte(t.prefix), wire...))
}

// forget invalidates the copies under tag at all members of a cluster.
func (s *Service) forget(ctx context.Context, tag cache.Tag) error {
	if err := s.space.Cache().Invalidate(ctx, cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{tag}}); err != nil {
		return fmt.Errorf("other nodes may not have dropped their copies: %w", err)
	}
	return nil
}

// forgetAll invalidates all copies in this process.
func (s *Service) forgetAll() {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{s.tags.all}})
}
