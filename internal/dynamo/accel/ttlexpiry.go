package accel

import (
	"context"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// ItemRemoved returns the function that the service's current origin, if it is in this
// process, must call after it has deleted an item itself, for example by time to live. item
// is the deleted item as a JSON object. A read that begins after the function has returned
// doesn't see the item, through any service with that origin.
func (s *Service) ItemRemoved() func(table string, item []byte) {
	of := s.settings.Load().tag
	return func(table string, item []byte) {
		s.cache.Apply(cache.Change{Cause: cache.ByExpiry, Tags: s.expiredItemTags(of, table, item)})
		s.invalidated(table, cache.ByExpiry, 1)
	}
}

func (s *Service) expiredItemTags(of cache.Tag, name string, item []byte) []cache.Tag {
	t := s.table(context.Background(), []byte(name))
	if t.tags.origin == of && t.known && wire.Valid(item, wire.MaxDepth) {
		if k, ok := t.keyOfItem(item); ok {
			ch := change{t: t, key: item, old: image{known: true, item: item}, new: image{known: true}}
			return ch.indexTags([]cache.Tag{t.itemTag(k.bytes), t.partitionTag(k.hash()), t.tags.writes})
		}
	}
	tags := newTableTags(of, name)
	return []cache.Tag{tags.table, tags.writes}
}
