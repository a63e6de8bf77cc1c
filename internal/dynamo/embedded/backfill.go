package embedded

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/catalog"
	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/pause"
)

// Backfilling. From the moment a new index, or the expiry index of a new time to live, is in
// the table's description, writers maintain it. One goroutine for the whole store adds the
// older items, a few at a time, each under its lock. It stores its progress in the same
// batch as the added entries, so it continues there after a restart.

// The maximum number of items, and of their bytes, that are added at once: writers wait that
// long.
const (
	chunkItems = 64
	chunkBytes = 1 << 20
)

// retryAfter is the delay of background work after an error.
const retryAfter = time.Second

// backfiller adds older items to indexes in the background.
type backfiller struct {
	wakeup chan struct{} // of capacity 1
}

// wake signals that there is work.
func (f *backfiller) wake() {
	select {
	case f.wakeup <- struct{}{}:
	default:
	}
}

// cursorKey returns the key of the backfill cursor of an index, or of the expiry index if
// index is tableIndex. The cursor is the key of the next item.
func cursorKey(dst []byte, table uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(appendTable(dst, spaceCursor, table), index)
}

// runBackfill fills indexes until the store closes.
func (s *Store) runBackfill() {
	for s.background.Err() == nil {
		var more bool
		err := s.work(func() (err error) {
			more, err = s.fillSome()
			return err
		})
		switch {
		case err != nil:
			s.log.Error("embedded store: entering items into an index", slog.Any("error", err))
			pause.For(s.background, retryAfter)
		case !more:
			select {
			case <-s.backfill.wakeup:
			case <-s.background.Done():
			}
		}
	}
}

// fillSome adds a few items to each index that is being filled. It returns more == false if
// there is no such index.
func (s *Store) fillSome() (more bool, err error) {
	for _, t := range *s.tables.Load() {
		for _, index := range t.unfilled() {
			if s.background.Err() != nil {
				return false, nil
			}
			more = true
			if err := s.fillChunk(t, index); err != nil {
				return more, err
			}
		}
	}
	return more, nil
}

// unfilled returns the indexes that are being filled; tableIndex means the expiry
// index.
func (t *table) unfilled() []uint32 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.deleted {
		return nil
	}
	var out []uint32
	for _, all := range [][]*catalog.Index{t.info.Indexes, t.info.Vectors} {
		for _, x := range all {
			if x.Backfilling {
				out = append(out, x.ID)
			}
		}
	}
	if t.info.TTL != nil && t.info.TTL.Backfilling {
		out = append(out, tableIndex)
	}
	return out
}

// filling reports whether the index, or the expiry index, is still being filled. The caller
// holds the table.
func (t *table) filling(index uint32) (x *catalog.Index, ok bool) {
	if t.deleted {
		return nil, false
	}
	if index == tableIndex {
		return nil, t.info.TTL != nil && t.info.TTL.Backfilling
	}
	for _, all := range [][]*catalog.Index{t.info.Indexes, t.info.Vectors} {
		for _, x := range all {
			if x.ID == index {
				return x, x.Backfilling
			}
		}
	}
	return nil, false
}

// fillChunk adds the next few items of a table, or ends the backfill if there are none.
func (s *Store) fillChunk(t *table, index uint32) error {
	if err := s.writable(false); err != nil {
		return err
	}
	t.mu.RLock()
	x, ok := t.filling(index)
	if !ok {
		t.mu.RUnlock()
		return nil
	}
	e := s.newEdit(t)
	defer e.close()
	keys, next, err := s.chunk(t, index)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		e.release()
		return s.endFill(t.info.Name, index)
	}
	e.lock(keys...)
	for _, key := range keys {
		if err := e.addEntry(t, x, key); err != nil {
			return err
		}
	}
	e.b.Set(cursorKey(nil, t.id, index), next)
	return e.commit()
}

// chunk returns the keys of the next few items, and the key after them.
func (s *Store) chunk(t *table, index uint32) (keys [][]byte, next []byte, err error) {
	items := appendIndex(nil, t.id, tableIndex)
	begin, err := s.readBytes(cursorKey(nil, t.id, index))
	if begin == nil {
		begin = items
	}
	if err != nil {
		return nil, nil, err
	}
	it, err := s.db.Iter(begin, prefixEnd(nil, items))
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	size := 0
	for ok := it.First(); ok && len(keys) < chunkItems && size < chunkBytes; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
		size += len(it.Value())
	}
	if len(keys) > 0 {
		next = append(bytes.Clone(keys[len(keys)-1]), 0)
	}
	return keys, next, it.Error()
}

// firstKeys returns the first keys in [lower, upper), at most limit.
func (s *Store) firstKeys(lower, upper []byte, limit int) (keys [][]byte, err error) {
	it, err := s.db.Iter(lower, upper)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.First(); ok && len(keys) < limit; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, it.Error()
}

// readBytes reads the value under key, nil if there is none.
func (s *Store) readBytes(key []byte) ([]byte, error) {
	v, ok, err := s.db.Get(key)
	if !ok || err != nil {
		return nil, err
	}
	defer v.Close()
	return bytes.Clone(v.Bytes), nil
}

// addEntry adds the item under key, which is locked, to the index, or to the expiry index if
// x is nil. The item may have been deleted, or have been added by its last writer.
func (e *edit) addEntry(t *table, x *catalog.Index, key []byte) error {
	item, err := readImage(e.s.db, key, needTree)
	if err != nil || !item.exists() {
		return err
	}
	if x == nil {
		if entry, ok := expiryKey(nil, t.info, key, &item); ok {
			e.b.Set(entry, nil)
		}
		return nil
	}
	entryKey, entry := t.entry(x, &item)
	if !entry.exists() {
		return nil
	}
	there, err := readImage(e.s.db, entryKey, needSize)
	if err != nil || there.exists() {
		return err
	}
	e.set(entryKey, &entry)
	e.addCounts(t.id, x.ID, &image{}, &entry)
	return nil
}

// hasEntry reports whether an item has an entry, under key, in an index that is being
// filled. If it has none, a change to the item adds it.
func (e *edit) hasEntry(key []byte) bool {
	entry, err := readImage(e.s.db, key, needSize)
	return err != nil || entry.exists()
}

// endFill records that all items are in the index, or in the expiry index.
func (s *Store) endFill(name string, index uint32) error {
	return s.alter(name, s.clock(), func(info *catalog.Table, b kv.Batch) (*catalog.Table, error) {
		b.Delete(cursorKey(nil, info.ID, index))
		if index != tableIndex {
			return info.Filled(index), nil
		}
		next := *info
		if info.TTL != nil {
			next.TTL = &catalog.TTL{Attribute: info.TTL.Attribute}
		}
		return &next, nil
	})
}
