package embedded

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// Streams on disk:
//
//	s d stream         catalog.Stream as JSON
//	s r stream number  record (streamrecords.go)
//	s t stream         number of the last record that was trimmed
//
// Numbers are the microseconds since 1970 when the record was made, or the previous number
// plus one if that is greater. So they increase, across restarts as well, and show the age
// of a record without reading it.
const (
	streamInfo    = 'd'
	streamRecords = 'r'
	streamTrimmed = 't'
)

// recordLife is the time for which records, and closed streams, can be read.
const recordLife = 24 * time.Hour

// stream is an open or closed stream.
type stream struct {
	// mu is held from the time a record gets its number until the record can be read, so
	// that a reader that has seen a number has seen all smaller ones.
	mu sync.Mutex
	// last is the greatest assigned number; mu guards it.
	last uint64
	// durable is the greatest number of a record that is known to be on disk. Readers don't
	// see later records: a crash could lose them.
	durable atomic.Uint64
	// trimmed is the greatest number of a record that was removed because of its age.
	trimmed atomic.Uint64
	// info is replaced when the stream is closed.
	info atomic.Pointer[catalog.Stream]
}

// streamKey returns the key of a value that each stream has once.
func streamKey(dst []byte, kind byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, spaceStream, kind), id)
}

// recordKey returns the key of a stream's record.
func recordKey(dst []byte, id, number uint64) []byte {
	return binary.BigEndian.AppendUint64(streamKey(dst, streamRecords, id), number)
}

// recordNumber returns the number of the record under key.
func recordNumber(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func writeStream(b kv.Batch, info *catalog.Stream) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	b.Set(streamKey(nil, streamInfo, info.ID), text)
	return nil
}

// openStream creates the stream of a table that is not published yet.
func (s *Store) openStream(b kv.Batch, info *catalog.Table) (*stream, error) {
	id, err := s.nextID(b, streamIDs)
	if err != nil {
		return nil, err
	}
	info.Stream.ID = id
	b.Set(labelKey, []byte(info.Stream.Label))
	st := &stream{}
	st.begin(info.Stream, info.Stream.Start)
	return st, writeStream(b, info.Stream)
}

// labelKey is the key of the label of the newest stream of the store's lifetime.
var labelKey = []byte{spaceMeta, 'l'}

// newStreams returns the state on which a new stream depends.
func (s *Store) newStreams() (catalog.Streams, error) {
	latest, err := s.latestLabel()
	return catalog.Streams{Latest: latest, Shards: s.cfg.StreamShards}, err
}

// latestLabel returns the label of the newest stream, empty if there was none. For stores
// that are older than labelKey it uses the streams that still exist.
func (s *Store) latestLabel() (latest string, err error) {
	v, ok, err := s.db.Get(labelKey)
	if err != nil {
		return "", err
	}
	if ok {
		defer v.Close()
		return string(v.Bytes), nil
	}
	for name := range *s.streams.all.Load() {
		latest = max(latest, name.label)
	}
	return latest, nil
}

// begin initialises a stream; last is the greatest number on disk.
func (st *stream) begin(info *catalog.Stream, last uint64) {
	st.info.Store(info)
	st.last = last
	st.durable.Store(last)
}

// closedInfo returns the description of the stream after it is closed. No more records may
// be written to it.
func (st *stream) closedInfo(now time.Time) *catalog.Stream {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.info.Load().Close(now, st.last)
}

// nextNumber returns the number for the next record. The caller holds mu.
func (st *stream) nextNumber(now time.Time) uint64 {
	st.last = max(st.last+1, uint64(now.UnixMicro()))
	return st.last
}

// floor returns the smallest number at which a reader of a shard may begin. All its readable
// records have at least this number.
func (st *stream) floor(shard *catalog.Shard) uint64 {
	first := shard.Start
	if shard.Parent != "" {
		first++ // its parent ends with Start
	}
	return max(first, st.trimmed.Load()+1)
}

// setDurable records that all records up to number are on disk.
func (st *stream) setDurable(number uint64) {
	for {
		seen := st.durable.Load()
		if seen >= number || st.durable.CompareAndSwap(seen, number) {
			return
		}
	}
}

// streamName identifies a stream, as its ARN does.
type streamName struct{ table, label string }

// streamSet holds all streams of a store. The map is immutable; it is replaced while
// Store.schema is held.
type streamSet struct {
	all atomic.Pointer[map[streamName]*stream]
}

// find returns a stream, or nil.
func (set *streamSet) find(table, label string) *stream {
	return (*set.all.Load())[streamName{table, label}]
}

func (set *streamSet) add(st *stream) {
	next := maps.Clone(*set.all.Load())
	info := st.info.Load()
	next[streamName{info.Table, info.Label}] = st
	set.all.Store(&next)
}

func (set *streamSet) remove(st *stream) {
	next := maps.Clone(*set.all.Load())
	info := st.info.Load()
	delete(next, streamName{info.Table, info.Label})
	set.all.Store(&next)
}

// loadStreams reads all streams, and assigns them to their tables.
func (s *Store) loadStreams() error {
	s.streams.all.Store(&map[streamName]*stream{})
	return loadEach(s, []byte{spaceStream, streamInfo}, "stream", s.loadStream)
}

func (s *Store) loadStream(info *catalog.Stream) error {
	info.Upgrade()
	last, err := s.lastRecord(info)
	if err != nil {
		return err
	}
	st := &stream{}
	st.begin(info, last)
	trimmed, err := s.readNumber(streamKey(nil, streamTrimmed, info.ID))
	if err != nil {
		return err
	}
	st.trimmed.Store(trimmed)
	s.streams.add(st)
	if t := (*s.tables.Load())[info.Table]; t != nil && t.info.Stream != nil && t.info.Stream.ID == info.ID {
		t.stream = st
	}
	return nil
}

// lastRecord returns the number of the stream's last record.
func (s *Store) lastRecord(info *catalog.Stream) (uint64, error) {
	it, err := s.db.Iter(recordKey(nil, info.ID, 0), recordKey(nil, info.ID+1, 0))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	last := max(info.Start, info.End)
	for i := range info.Shards {
		last = max(last, info.Shards[i].Start)
	}
	if it.Last() {
		last = max(last, recordNumber(it.Key()))
	}
	return last, it.Error()
}

// trimStreams removes records that can't be read any more, and streams that were closed as
// long ago.
func (s *Store) trimStreams(now time.Time) error {
	horizon := now.Add(-recordLife)
	for _, st := range *s.streams.all.Load() {
		if info := st.info.Load(); info.Closed != nil && info.Closed.Before(horizon) {
			if err := s.forgetStream(st); err != nil {
				return err
			}
			continue
		}
		if err := s.trimStream(st, uint64(horizon.UnixMicro())); err != nil {
			return err
		}
		if err := s.changeShards(st, func(info *catalog.Stream, _ uint64) *catalog.Stream {
			return info.Forget(horizon)
		}); err != nil {
			return err
		}
	}
	return nil
}

// trimStream removes the stream's records below a number.
func (s *Store) trimStream(st *stream, below uint64) error {
	id := st.info.Load().ID
	it, err := s.db.Iter(recordKey(nil, id, 0), recordKey(nil, id, below))
	if err != nil {
		return err
	}
	last := uint64(0)
	if it.Last() {
		last = recordNumber(it.Key())
	}
	if err := it.Close(); err != nil || last == 0 {
		return err
	}
	b := s.db.NewBatch()
	defer b.Close()
	b.DeleteRange(recordKey(nil, id, 0), recordKey(nil, id, last+1))
	b.Set(streamKey(nil, streamTrimmed, id), binary.BigEndian.AppendUint64(nil, last))
	// A reader that still finds the records may be refused, but a reader that doesn't find
	// them must not conclude that there are none.
	st.trimmed.Store(last)
	return kv.Commit(s.db, b)
}

// forgetStream removes a closed stream.
func (s *Store) forgetStream(st *stream) error {
	s.schema.Lock()
	defer s.schema.Unlock()
	info := st.info.Load()
	b := s.db.NewBatch()
	defer b.Close()
	b.DeleteRange(recordKey(nil, info.ID, 0), recordKey(nil, info.ID+1, 0))
	b.Delete(streamKey(nil, streamInfo, info.ID))
	b.Delete(streamKey(nil, streamTrimmed, info.ID))
	if err := kv.Commit(s.db, b); err != nil {
		return err
	}
	s.streams.remove(st)
	return nil
}
