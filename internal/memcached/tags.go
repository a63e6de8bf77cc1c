package memcached

import "github.com/kasoku/kasoku/internal/cache"

// tagger makes the tags that copies in this process depend on.
type tagger struct {
	prefix string
	all    cache.Tag // of everything of the service
}

func newTagger(service string) tagger {
	prefix := "memcached\x00" + service + "\x00"
	return tagger{prefix, cache.BroadTagOf([]byte(prefix))}
}

// of are the tags of what has the key wire.
func (t *tagger) of(wire []byte) []cache.Tag { return []cache.Tag{t.all, t.key(wire)} }

// key is the tag of a key alone.
func (t *tagger) key(wire []byte) cache.Tag {
	return cache.TagOf(append([]byte(t.prefix), wire...))
}

// forget puts the copies of what has the key wire out of reach.
func (s *Service) forget(wire []byte) {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{s.tags.key(wire)}})
}

// forgetAll puts all copies out of reach.
func (s *Service) forgetAll() {
	s.space.Cache().Apply(cache.Change{Cause: cache.ByPurge, Tags: []cache.Tag{s.tags.all}})
}
