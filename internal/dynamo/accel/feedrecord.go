package accel

import (
	"context"
	"fmt"
	"slices"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/streams"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxRecordTags is the number of tags that are invalidated at a time.
const maxRecordTags = 1000

// apply invalidates what depends on the records of a shard, on all nodes. Those of writes through
// this process have done so before.
func (f *feed) apply(ctx context.Context, _ string, records []streams.Record) error {
	s := f.svc
	t := s.peek([]byte(f.table)) // it is no use of the table
	if t == nil {
		t = s.loadTable(ctx, f.table)
	}
	if t.feed != f {
		f.own.reset()
		return f.fence(ctx)
	}
	var tags []cache.Tag
	for i := range records {
		tags = f.recordTags(tags, t, &records[i])
	}
	slices.Sort(tags)
	for chunk := range slices.Chunk(slices.Compact(tags), maxRecordTags) {
		if err := f.invalidate(ctx, chunk); err != nil {
			return err
		}
	}
	if !s.isCurrent(t) { // its indexes may have changed
		return f.fence(ctx)
	}
	return nil
}

// fence implements streams.Config.Fence: it invalidates everything of the table, on all nodes.
func (f *feed) fence(ctx context.Context) error {
	f.own.reset()
	return f.invalidate(ctx, []cache.Tag{newTableTags(f.origin, f.table).table})
}

func (f *feed) invalidate(ctx context.Context, tags []cache.Tag) error {
	if err := f.svc.cache.Invalidate(ctx, cache.Change{Cause: cache.ByFeed, Tags: tags}); err != nil {
		return fmt.Errorf("records of table %s: %w", f.table, err)
	}
	return nil
}

// recordTags appends the tags of a record that its write has not moved yet.
func (f *feed) recordTags(tags []cache.Tag, t *table, r *streams.Record) []cache.Tag {
	k, ok := t.keyOf(r.Keys)
	if !ok || !validImage(r.Old) || !validImage(r.New) {
		f.own.reset()
		return append(tags, t.tags.table)
	}
	ch := change{t: t, key: r.Keys}
	if r.Old != nil || r.Kind == streams.Insert {
		ch.old = image{known: true, item: r.Old}
	}
	if r.New != nil || r.Kind == streams.Remove {
		ch.new = image{known: true, item: r.New}
	}
	item := t.itemTag(k.bytes)
	own, exact := f.own.take(item, ch.old, ch.new)
	if own {
		f.svc.metrics.own.Inc()
	} else {
		tags = append(tags, item, t.partitionTag(k.hash()), t.tags.writes)
	}
	if !exact && t.rule.query > 0 {
		tags = ch.indexTags(tags)
	}
	return tags
}

// validImage reports whether an image, which may be absent, can be read.
func validImage(item []byte) bool { return item == nil || wire.Valid(item, wire.MaxDepth) }
