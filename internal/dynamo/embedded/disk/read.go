package disk

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// Reader is what can be read: the present, or a snapshot.
type Reader interface {
	// Get returns the value under key; ok is false if there is none. The value is
	// to be closed if ok.
	Get(key []byte) (v Value, ok bool, err error)
	// Iter walks over the keys from lower to upper, the latter excluded, as they
	// are now. It is to be closed. The bounds must not change before.
	Iter(lower, upper []byte) (*Iter, error)
}

// Value is borrowed memory: Bytes is good until Close.
type Value struct {
	Bytes  []byte
	closer io.Closer
}

// Close gives the memory back.
func (v Value) Close() { _ = v.closer.Close() }

// Get is Reader's.
func (d *DB) Get(key []byte) (Value, bool, error) {
	return found(d.db.Get(key))
}

// Iter is Reader's.
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

// Iter walks over keys in either direction: First, Last, SeekGE, SeekLT, Next and
// Prev tell whether they found one, Key and Value borrow it until the next move.
// Error and Close report what went wrong in a walk that ended early.
type Iter = pebble.Iterator

// Snapshot is the directory at one moment. It is to be closed.
type Snapshot struct{ s *pebble.Snapshot }

var _ Reader = (*Snapshot)(nil)

// Snapshot holds on to the present.
func (d *DB) Snapshot() *Snapshot { return &Snapshot{d.db.NewSnapshot()} }

// Get is Reader's.
func (s *Snapshot) Get(key []byte) (Value, bool, error) {
	return found(s.s.Get(key))
}

// Iter is Reader's.
func (s *Snapshot) Iter(lower, upper []byte) (*Iter, error) {
	return s.s.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
}

// Close lets the moment go.
func (s *Snapshot) Close() { _ = s.s.Close() }
