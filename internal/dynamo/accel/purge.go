package accel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Purge drops entries. A read that begins after it has returned doesn't see anything cached
// before.
func (s *Service) Purge(ctx context.Context, r admin.PurgeRequest) (admin.PurgeResult, error) {
	if s.settings.Load().cfg.Namespaced {
		return s.purgedNothing(), nil
	}
	tags, what, err := s.purgeTags(ctx, r)
	if err != nil {
		return admin.PurgeResult{}, err
	}
	if err := s.cache.Invalidate(ctx, cache.Change{Cause: cache.ByPurge, Tags: tags}); err != nil {
		return admin.PurgeResult{}, fmt.Errorf("the other nodes may not have dropped %s: %w", what, err)
	}
	if r.Table != "" {
		s.invalidated(r.Table, cache.ByPurge, 1)
	}
	if r.Table != "" && s.tableMissing(ctx, r.Table) {
		return admin.PurgeResult{}, s.noTableError(r.Table)
	}
	return admin.PurgeResult{Dropped: what, Tags: len(tags)}, nil
}

// describeTimeout limits how long a purge waits for the description of a table.
const describeTimeout = 5 * time.Second

// tableMissing reports whether the origin has no such table, most likely because the name is
// misspelt. A table that can't be described for another reason may exist.
func (s *Service) tableMissing(ctx context.Context, table string) bool {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	return s.table(ctx, []byte(table)).missing
}

func (s *Service) noTableError(table string) error {
	return fmt.Errorf("%w: nothing was dropped: the origin of service %s has no table %s", admin.ErrInput, s.name, table)
}

func (s *Service) purgeTags(ctx context.Context, r admin.PurgeRequest) (tags []cache.Tag, what string, err error) {
	switch {
	case r.ByURL():
		return nil, "", fmt.Errorf("%w: service %s has tables, not URLs; name a table", admin.ErrInput, s.name)
	case r.Table == "" && (r.Partition != nil || r.Key != nil):
		return nil, "", fmt.Errorf("%w: a partition or a key needs its table", admin.ErrInput)
	case r.Table == "":
		return []cache.Tag{s.settings.Load().tag}, "everything of service " + s.name, nil
	case r.Partition == nil && r.Key == nil:
		return []cache.Tag{newTableTags(s.settings.Load().tag, r.Table).table}, "everything of table " + r.Table, nil
	case r.Partition != nil && r.Key != nil:
		return nil, "", fmt.Errorf("%w: a partition or a key, not both", admin.ErrInput)
	}
	t := s.table(ctx, []byte(r.Table))
	if t.missing {
		return nil, "", s.noTableError(r.Table)
	}
	if !t.known {
		return nil, "", fmt.Errorf("%w: the schema of table %s is not known; purge the whole table", admin.ErrInput, r.Table)
	}
	if r.Partition != nil {
		return t.purgePartition(r.Partition)
	}
	return t.purgeItem(r.Key)
}

// purgePartition drops the items and queries of a partition. The items' partitions in global
// indexes are unknown, so all queries of these indexes are dropped too.
func (t *table) purgePartition(value json.RawMessage) ([]cache.Tag, string, error) {
	attr, err := t.partitionValue(value)
	if err != nil {
		return nil, "", err
	}
	hash, ok := wire.AppendScalar(nil, attr, t.hash.typ)
	if !ok {
		return nil, "", fmt.Errorf("%w: %s is no value of partition key %s, which is of type %c", admin.ErrInput, value, t.hash.name, t.hash.typ)
	}
	tags := append(t.allIndexTags(), t.purgeTag(hash), t.partitionTag(hash), t.tags.writes)
	return tags, fmt.Sprintf("partition %s of table %s, and queries that may hold its items", value, t.name), nil
}

// partitionValue parses the value of a partition key: text, which is converted to the key's
// type, or an attribute value.
func (t *table) partitionValue(value json.RawMessage) ([]byte, error) {
	if !wire.Valid(value, wire.MaxDepth) {
		return nil, fmt.Errorf("%w: the partition is not valid JSON", admin.ErrInput)
	}
	switch wire.Kind(value) {
	case '{':
		return value, nil
	case '0':
		value = append(append([]byte{'"'}, value...), '"')
	}
	return fmt.Appendf(nil, `{"%c":%s}`, t.hash.typ, value), nil
}

func (t *table) purgeItem(key json.RawMessage) ([]cache.Tag, string, error) {
	if !wire.Valid(key, wire.MaxDepth) || wire.Kind(key) != '{' {
		return nil, "", fmt.Errorf("%w: the key is no JSON object", admin.ErrInput)
	}
	k, ok := t.keyOf(key)
	if !ok {
		return nil, "", fmt.Errorf("%w: %s is not the key of an item of table %s: it needs exactly %s", admin.ErrInput, key, t.name, t.keyNames())
	}
	tags := append(t.allIndexTags(), t.itemTag(k.bytes), t.partitionTag(k.hash()), t.tags.writes)
	return tags, fmt.Sprintf("item %s of table %s, and queries that may hold it", key, t.name), nil
}

func (t *table) keyNames() string {
	names := fmt.Sprintf("%s (%c)", t.hash.name, t.hash.typ)
	if t.rng.name != "" {
		names += fmt.Sprintf(" and %s (%c)", t.rng.name, t.rng.typ)
	}
	return names
}
