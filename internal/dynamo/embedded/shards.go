package embedded

import (
	"bytes"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/faults"
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

const (
	// maxSplitShards is the number of open shards of a stream up to which SplitShards splits them.
	maxSplitShards = 64
	// maxShards is the number of all shards of a stream above which SplitShards changes nothing. They are
	// removed a day after they were closed.
	maxShards = 2000
)

// ErrShards is the error of SplitShards for a stream that has too many shards already.
var ErrShards = fmt.Errorf("a stream has more than %d shards, which are removed a day after they were closed", maxShards)

// SplitShards closes the open shards of the streams of tables that match patterns, and returns how many.
// Each is followed by two with half of its partitions, or by one if the stream has 64 open shards. If
// one of the streams has too many, it returns an error that wraps ErrShards and changes nothing.
func (s *Store) SplitShards(tables faults.Patterns) (closed int, err error) {
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return 0, ErrClosed
	}
	var streams []*stream
	for _, st := range *s.streams.all.Load() {
		info := st.info.Load()
		if info.Closed != nil || !tables.Match(info.Table) {
			continue
		}
		if len(info.Shards) > maxShards {
			return 0, fmt.Errorf("table %s: %w", info.Table, ErrShards)
		}
		streams = append(streams, st)
	}
	now := s.clock()
	for _, st := range streams {
		open := 0
		err := s.changeShards(st, func(info *catalog.Stream, last uint64) *catalog.Stream {
			open = info.OpenShards()
			return info.Follow(now.Add(time.Hour), now, last, maxSplitShards)
		})
		if err != nil {
			return closed, err
		}
		closed += open
	}
	return closed, nil
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
