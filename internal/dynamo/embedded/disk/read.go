package disk

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// Get implements kv.Reader.
func (d *DB) Get(key []byte) (kv.Value, bool, error) {
	return found(d.db.Get(key))
}

// Iter implements kv.Reader.
func (d *DB) Iter(lower, upper []byte) (kv.Iter, error) {
	return d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

func found(bytes []byte, closer io.Closer, err error) (kv.Value, bool, error) {
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return kv.Value{}, false, nil
	case err != nil:
		return kv.Value{}, false, err
	}
	return kv.Borrowed(bytes, closer), true, nil
}

// snapshot is the state of the directory at one moment.
type snapshot struct{ s *pebble.Snapshot }

// Snapshot implements kv.DB.
func (d *DB) Snapshot() kv.Snapshot { return &snapshot{d.db.NewSnapshot()} }

// Get implements kv.Reader.
func (s *snapshot) Get(key []byte) (kv.Value, bool, error) {
	return found(s.s.Get(key))
}

// Iter implements kv.Reader.
func (s *snapshot) Iter(lower, upper []byte) (kv.Iter, error) {
	return s.s.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// Close releases the snapshot.
func (s *snapshot) Close() { _ = s.s.Close() }
