package accel

import (
	"context"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// ItemRemoved is told by an origin in this process that it has removed an item by
// itself, as when its time to live was over: no client's write tells of that. item
// is the item as it was, as a JSON object. When ItemRemoved has returned, no read
// that begins later sees it.
func (s *Service) ItemRemoved(table string, item []byte) {
	s.cache.Apply(cache.Change{Cause: cache.ByExpiry, Tags: s.removedTags(table, item)})
}

func (s *Service) removedTags(name string, item []byte) []cache.Tag {
	t := s.table(context.Background(), []byte(name))
	if t.known && wire.Valid(item, wire.MaxDepth) {
		if k, ok := t.keyOfItem(item); ok {
			ch := change{t: t, key: item, old: image{known: true, item: item}, new: image{known: true}}
			return ch.indexTags([]cache.Tag{t.itemTag(k.bytes), t.partitionTag(k.hash()), t.tags.writes})
		}
	}
	tags := newTableTags(s.name, name)
	return []cache.Tag{tags.table, tags.writes}
}
