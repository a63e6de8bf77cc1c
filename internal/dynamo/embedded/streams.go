package embedded

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/disk"
)

// Streams on disk:
//
//	s d stream         catalog.Stream as JSON
//	s r stream number  record (streamrecords.go)
//	s t stream         number of the last record that was trimmed
//
// Numbers are microseconds since 1970 when the record was made, or one more than
// the number before if that is greater. So they grow, across restarts as well, and
// tell without a look at the records which of them are to be trimmed.
const (
	streamInfo    = 'd'
	streamRecords = 'r'
	streamTrimmed = 't'
)

// recordLife is how long records, and streams that are closed, can be read.
const recordLife = 24 * time.Hour

// stream is a stream, open or closed.
type stream struct {
	// mu is held from giving a record its number until the record can be read, so
	// that a reader who has seen a number has seen all smaller ones.
	mu sync.Mutex
	// last is the greatest number given; mu guards it.
	last uint64
	// durable is the greatest number of a record that is known to be on disk. Readers
	// are shown no others: a crash must not unmake what somebody has seen.
	durable atomic.Uint64
	// trimmed is the greatest number of a record that was removed for its age.
	trimmed atomic.Uint64
	// info is replaced when the stream is closed.
	info atomic.Pointer[catalog.Stream]
}

// streamKey is the key of what a stream has one of.
func streamKey(dst []byte, kind byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, spaceStream, kind), id)
}

// recordKey is the key of a stream's record.
func recordKey(dst []byte, id, number uint64) []byte {
	return binary.BigEndian.AppendUint64(streamKey(dst, streamRecords, id), number)
}

// recordNumber is the number of the record under key.
func recordNumber(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func writeStream(b *disk.Batch, info *catalog.Stream) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	b.Set(streamKey(nil, streamInfo, info.ID), text)
	return nil
}

// openStream makes the stream of a table that is not yet published.
func (s *Store) openStream(b *disk.Batch, info *catalog.Table) (*stream, error) {
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

// labelKey is the key of the label of the newest stream that there ever was.
var labelKey = []byte{spaceMeta, 'l'}

// latestLabel returns the label of the newest stream, empty if there was none.
// Stores of before labels were kept have those of the streams that are still there.
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

// begin makes a stream whose greatest number so far, on disk, is last.
func (st *stream) begin(info *catalog.Stream, last uint64) {
	st.info.Store(info)
	st.last = last
	st.durable.Store(last)
}

// closedInfo is the description of the stream closed. Nobody may write to it any more.
func (st *stream) closedInfo(now time.Time) *catalog.Stream {
	st.mu.Lock()
	defer st.mu.Unlock()
	closed := *st.info.Load()
	closed.Closed, closed.End = &now, st.last
	return &closed
}

// nextNumber gives the next record its number. mu is held.
func (st *stream) nextNumber(now time.Time) uint64 {
	st.last = max(st.last+1, uint64(now.UnixMicro()))
	return st.last
}

// floor is a number that is greater than those of no records that can be read, and
// that one may ask to begin at.
func (st *stream) floor() uint64 { return max(st.info.Load().Start, st.trimmed.Load()+1) }

// publishRecords notes that all records up to number are on disk.
func (st *stream) setDurable(number uint64) {
	for {
		seen := st.durable.Load()
		if seen >= number || st.durable.CompareAndSwap(seen, number) {
			return
		}
	}
}

// streamName names a stream as its ARN does.
type streamName struct{ table, label string }

// streamSet is all streams of a store. The map is never changed, only replaced,
// with Store.schema held.
type streamSet struct {
	all atomic.Pointer[map[streamName]*stream]
}

// find returns a stream, nil if there is none.
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

// loadStreams reads all streams, and gives tables theirs.
func (s *Store) loadStreams() error {
	s.streams.all.Store(&map[streamName]*stream{})
	prefix := []byte{spaceStream, streamInfo}
	it, err := s.db.Iter(prefix, prefixEnd(nil, prefix))
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		info := &catalog.Stream{}
		if err := json.Unmarshal(it.Value(), info); err != nil {
			return fmt.Errorf("the description of stream %x is damaged: %w", it.Key(), err)
		}
		if err := s.loadStream(info); err != nil {
			return err
		}
	}
	return it.Error()
}

func (s *Store) loadStream(info *catalog.Stream) error {
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

// lastRecord is the number of the stream's last record.
func (s *Store) lastRecord(info *catalog.Stream) (uint64, error) {
	it, err := s.db.Iter(recordKey(nil, info.ID, 0), recordKey(nil, info.ID+1, 0))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	last := max(info.Start, info.End)
	if it.Last() {
		last = max(last, recordNumber(it.Key()))
	}
	return last, it.Error()
}

// trimStreams removes records that nobody may read any more, and streams that were
// closed so long ago.
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
	// A reader who still finds the records may be refused, but none who doesn't may
	// believe that there are none.
	st.trimmed.Store(last)
	return s.db.Commit(b)
}

// forgetStream removes a stream that was closed.
func (s *Store) forgetStream(st *stream) error {
	s.schema.Lock()
	defer s.schema.Unlock()
	info := st.info.Load()
	b := s.db.NewBatch()
	defer b.Close()
	b.DeleteRange(recordKey(nil, info.ID, 0), recordKey(nil, info.ID+1, 0))
	b.Delete(streamKey(nil, streamInfo, info.ID))
	b.Delete(streamKey(nil, streamTrimmed, info.ID))
	if err := s.db.Commit(b); err != nil {
		return err
	}
	s.streams.remove(st)
	return nil
}
