package embedded

import (
	"bytes"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The records of a stream have one order, in which they are stored. A shard is the part of them that
// is in a range of partitions and of numbers, see catalog.Shard: closing a shard moves nothing.

// splitShards returns up to how many open shards a shard that is closed may be followed by two:
// a stream that began with several ends with twice as many. Consumers of a single shard may depend on
// the order of all records.
func (s *Store) splitShards() int {
	if s.cfg.StreamShards > 1 {
		return 2 * s.cfg.StreamShards
	}
	return 1
}

// followShards closes the open shards that are older than Config.ShardLife, and opens others.
func (s *Store) followShards(now time.Time) error {
	for _, st := range *s.streams.all.Load() {
		err := s.changeShards(st, func(info *catalog.Stream, last uint64) *catalog.Stream {
			return info.Follow(now.Add(-s.cfg.ShardLife), now, last, s.splitShards())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// changeShards replaces the description of an open stream by the result of change, which gets the
// greatest number that was assigned, and returns nil for no change.
func (s *Store) changeShards(st *stream, change func(info *catalog.Stream, last uint64) *catalog.Stream) error {
	if change(st.info.Load(), 0) == nil {
		return nil
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	st.mu.Lock()
	defer st.mu.Unlock()
	info := st.info.Load()
	next := change(info, st.last)
	if next == nil {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	if err := writeStream(b, next); err != nil {
		return err
	}
	if err := kv.Commit(s.db, b); err != nil {
		return err
	}
	st.info.Store(next)
	return nil
}

// shardHas reports whether a stored record of a stream is in a shard.
func shardHas(info *catalog.Stream, shard *catalog.Shard, number uint64, stored []byte) bool {
	if shard.Whole() {
		return shard.Has(number, 0)
	}
	return shard.Has(number, partitionOf(info, stored))
}

// partitionOf returns the hash of a stored record's partition, as far as shards are concerned.
func partitionOf(info *catalog.Stream, stored []byte) uint32 {
	_, keys, _ := bytes.Cut(stored, []byte(`,"Keys":`))
	hash := info.Key.Hash[0].Name
	for it := wire.Object(keys); it.Next(); {
		if !wire.NameIs(it.Name(), hash) {
			continue
		}
		v, err := value.Parse(it.Value())
		if err != nil {
			return 0 // not written by this store
		}
		return uint32(serviceHash(&v) >> 32)
	}
	return 0
}
