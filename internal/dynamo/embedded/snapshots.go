package embedded

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// maxSnapshots bounds the number of snapshots of a store.
const maxSnapshots = 1000

var snapshotName = lazyregexp.New(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$`)

// Errors of snapshots.
var (
	ErrNoSnapshot   = kv.ErrNotSaved
	ErrSnapshotName = errors.New("a snapshot's name has up to 64 letters, digits, ., _ and -, and does not begin with a dot")
	ErrSnapshots    = fmt.Errorf("there are %d snapshots already, which is the maximum: remove one", maxSnapshots)
)

// Save keeps the whole store as a snapshot, which replaces one with the same name: tables,
// items, streams, and the tokens of requests.
func (s *Store) Save(name string) error {
	if !snapshotName().MatchString(name) {
		return ErrSnapshotName
	}
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return ErrClosed
	}
	all, err := s.db.Saved()
	if err != nil {
		return err
	}
	if len(all) >= maxSnapshots && !slices.ContainsFunc(all, func(k kv.Saved) bool { return k.Name == name }) {
		return ErrSnapshots
	}
	return s.db.Save(name)
}

// Snapshots returns the snapshots in the order of their names.
func (s *Store) Snapshots() ([]kv.Saved, error) {
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	return s.db.Saved()
}

// Forget removes a snapshot.
func (s *Store) Forget(name string) error {
	if !snapshotName().MatchString(name) {
		return ErrSnapshotName
	}
	s.running.RLock()
	defer s.running.RUnlock()
	if s.closed {
		return ErrClosed
	}
	return s.db.Forget(name)
}

// Restore makes the store as it was when the snapshot was saved. It waits for the requests in
// progress; later ones wait for it.
func (s *Store) Restore(name string) error {
	if !snapshotName().MatchString(name) {
		return ErrSnapshotName
	}
	return s.replace(name)
}

// Reset removes all tables and streams. Snapshots are kept.
func (s *Store) Reset() error { return s.replace(kv.Empty) }

// replace replaces all data.
func (s *Store) replace(name string) error {
	s.working.Lock()
	defer s.working.Unlock()
	s.running.Lock()
	defer s.running.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	s.clearHistory()
	if err := s.db.Restore(name); err != nil {
		return err
	}
	if err := errors.Join(s.loadTables(), s.loadStreams()); err != nil {
		return err
	}
	s.backfill.wake()
	return nil
}

// Tables returns the names of all tables in order.
func (s *Store) Tables() []string { return slices.Sorted(maps.Keys(*s.tables.Load())) }
