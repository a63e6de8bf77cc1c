package embedded

import (
	"bytes"
	"encoding/binary"
	"time"
)

// The interval between removals of expired items, the number of items in one batch, and the
// maximum age of an expiry: as in the service, items that expired earlier are kept.
const (
	sweepEvery   = 500 * time.Millisecond
	sweepItems   = 32
	expiredSince = 5 * 365 * 24 * time.Hour
)

// trimEvery is the interval between removals of old stream records.
const trimEvery = time.Minute

// sweep removes expired items. Removals are deletes; they wait while the disk is too full
// for deletes.
func (s *Store) sweep(now time.Time) error {
	if s.writable(true) != nil {
		return nil
	}
	for _, t := range *s.tables.Load() {
		for more := true; more && s.background.Err() == nil; {
			var err error
			if more, err = s.sweepTable(t, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepTable removes a few items of a table. more reports whether there may be others.
func (s *Store) sweepTable(t *table, now time.Time) (more bool, err error) {
	t.mu.RLock()
	if t.deleted || t.info.TTL == nil {
		t.mu.RUnlock()
		return false, nil
	}
	e := s.newEdit(t)
	defer e.close()
	entries, err := s.due(t, now)
	if err != nil || len(entries) == 0 {
		return false, err
	}
	keys := make([][]byte, len(entries))
	for i, entry := range entries {
		keys[i] = itemOfExpiry(t.id, entry)
	}
	e.lock(keys...)
	var gone [][]byte
	for i, key := range keys {
		item, err := readImage(s.db, key, needTree)
		if err != nil {
			return false, err
		}
		entry, ok := expiryKey(nil, t.info, key, &item)
		if !ok || !bytes.Equal(entry, entries[i]) {
			// The item has been changed, and its entry with it.
			e.b.Delete(entries[i])
			continue
		}
		e.remove(t, key, item, true)
		gone = append(gone, item.text)
	}
	name := t.info.Name
	if err := e.commit(); err != nil {
		return false, err
	}
	s.reportExpired(name, gone)
	return len(entries) == sweepItems, nil
}

// due returns the first few entries of expired items.
func (s *Store) due(t *table, now time.Time) ([][]byte, error) {
	second := func(at time.Time) []byte {
		return binary.BigEndian.AppendUint64(appendTable(nil, spaceExpiry, t.id), uint64(at.Unix()))
	}
	return s.firstKeys(second(now.Add(-expiredSince)), second(now.Add(time.Second)), sweepItems)
}

// OnExpiry makes the store call f with each item that it has removed because of its time to
// live, after the removal is on disk. It replaces the previous function. The item is a JSON
// object.
func (s *Store) OnExpiry(f func(table string, item []byte)) { s.expired.Store(&f) }

func (s *Store) reportExpired(table string, items [][]byte) {
	if f := s.expired.Load(); f != nil {
		for _, item := range items {
			(*f)(table, item)
		}
	}
}
