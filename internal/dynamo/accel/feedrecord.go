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

// feedRecord is a record of a feed's stream.
type feedRecord struct {
	change
	item, partition cache.Tag
	id              itemKey
	own             bool // it is the record of a write through a node, which has moved its tags
	exact           bool // those of partitions of indexes too
}

// apply invalidates what depends on the records of a shard, on all nodes. Those of writes through
// one of the nodes have done so before.
func (f *feed) apply(ctx context.Context, shard string, records []streams.Record) error {
	s := f.svc
	t := s.peek([]byte(f.table)) // it is no use of the table
	if t == nil {
		t = s.loadTable(ctx, f.table)
	}
	if t.feed != f {
		return f.fence(ctx)
	}
	list, ok := f.parse(t, records)
	if !ok {
		return f.fence(ctx)
	}
	if s.cache.HasPeers() {
		f.askMembers(ctx, t, shard, list)
	}
	for chunk := range slices.Chunk(f.recordTags(t, list), maxRecordTags) {
		if err := f.invalidate(ctx, chunk); err != nil {
			return err
		}
	}
	s.invalidated(f.table, cache.ByFeed, len(list))
	if !s.isCurrent(t) { // its indexes may have changed
		return f.fence(ctx)
	}
	return nil
}

// fence implements streams.Config.Fence: it invalidates everything of the table, on all nodes.
func (f *feed) fence(ctx context.Context) error {
	f.own.reset()
	f.batches.restart()
	f.svc.invalidated(f.table, cache.ByFeed, 1)
	return f.invalidate(ctx, []cache.Tag{newTableTags(f.origin, f.table).table})
}

func (f *feed) invalidate(ctx context.Context, tags []cache.Tag) error {
	if err := f.svc.cache.Invalidate(ctx, cache.Change{Cause: cache.ByFeed, Tags: tags}); err != nil {
		return fmt.Errorf("records of table %s: %w", f.table, err)
	}
	return nil
}

// parse parses records, and takes those of writes through this process. ok is false if one of them
// can't be read. Then fence must be called.
func (f *feed) parse(t *table, records []streams.Record) (list []feedRecord, ok bool) {
	list = make([]feedRecord, len(records))
	for i := range records {
		from, r := &records[i], &list[i]
		k, ok := t.keyOf(from.Keys)
		if !ok || !validImage(from.Old) || !validImage(from.New) {
			return nil, false
		}
		r.change, r.id = change{t: t, key: from.Keys}, k
		if from.Old != nil || from.Kind == streams.Insert {
			r.old = image{known: true, item: from.Old}
		}
		if from.New != nil || from.Kind == streams.Remove {
			r.new = image{known: true, item: from.New}
		}
		r.item, r.partition = t.itemTag(k.bytes), t.partitionTag(k.hash())
		r.own, r.exact = f.own.take(r.item, r.old, r.new, r.remains())
	}
	return list, true
}

// recordTags returns the tags of records that their writes have not moved yet.
func (f *feed) recordTags(t *table, list []feedRecord) (tags []cache.Tag) {
	for i := range list {
		r := &list[i]
		if r.own {
			f.svc.metrics.own.Inc()
		} else {
			tags = append(tags, r.item, r.partition, t.tags.writes)
			f.svc.countInvalidation(t, r.id)
		}
		if !r.exact && t.rule.query > 0 {
			tags = r.indexTags(tags)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// validImage reports whether an image, which may be absent, can be read.
func validImage(item []byte) bool { return item == nil || wire.Valid(item, wire.MaxDepth) }
