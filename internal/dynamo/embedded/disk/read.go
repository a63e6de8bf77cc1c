package disk

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// Reader reads either the current state or a snapshot.
type Reader interface {
	// Get returns the value under key; ok is false if there is none. If ok, the caller must
	// close the value.
	Get(key []byte) (v Value, ok bool, err error)
	// Iter iterates over the keys in [lower, upper) at the time of the call. The caller must
	// close it, and must not change the bounds before.
	Iter(lower, upper []byte) (*Iter, error)
}

// Value is borrowed memory: Bytes is valid until Close.
type Value struct {
	Bytes  []byte
	closer io.Closer
}

// Close releases the memory.
func (v Value) Close() { _ = v.closer.Close() }

// Get implements Reader.
func (d *DB) Get(key []byte) (Value, bool, error) {
	return found(d.db.Get(key))
}

// Iter implements Reader.
func (d *DB) Iter(lower, upper []byte) (*Iter, error) {
	return d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

func found(bytes []byte, closer io.Closer, err error) (Value, bool, error) {
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return Value{}, false, nil
	case err != nil:
		return Value{}, false, err
	}
	return Value{bytes, closer}, true, nil
}

// Iter iterates over keys in either direction. First, Last, SeekGE, SeekLT, Next and Prev
// report whether they found a key. The results of Key and Value are valid until the next
// move. Error and Close return the error of an iteration that ended early.
type Iter = pebble.Iterator

// Snapshot is the state of the directory at one moment. The caller must close it.
type Snapshot struct{ s *pebble.Snapshot }

var _ Reader = (*Snapshot)(nil)

// Snapshot returns a snapshot of the current state.
func (d *DB) Snapshot() *Snapshot { return &Snapshot{d.db.NewSnapshot()} }

// Get implements Reader.
func (s *Snapshot) Get(key []byte) (Value, bool, error) {
	return found(s.s.Get(key))
}

// Iter implements Reader.
func (s *Snapshot) Iter(lower, upper []byte) (*Iter, error) {
	return s.s.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// Close releases the snapshot.
func (s *Snapshot) Close() { _ = s.s.Close() }
