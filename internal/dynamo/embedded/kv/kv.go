// Package kv defines the ordered keys and values in which a store keeps its data. Package
// disk implements it with files, package memory without.
package kv

import (
	"errors"
	"time"
)

// Reader reads either the current state or a snapshot.
type Reader interface {
	// Get returns the value under key; ok is false if there is none. If ok, the caller must
	// close the value.
	Get(key []byte) (v Value, ok bool, err error)
	// Iter iterates over the keys in [lower, upper) at the time of the call. The caller must
	// close it, and must not change the bounds before.
	Iter(lower, upper []byte) (Iter, error)
}

// Iter iterates over keys in either direction. First, Last, Next and Prev report whether they
// found a key. The results of Key and Value are valid until the next move. Error and Close
// return the error of an iteration that ended early.
type Iter interface {
	First() bool
	Last() bool
	Next() bool
	Prev() bool
	Key() []byte
	Value() []byte
	// ValueAndErr is Value, with the error of reading it.
	ValueAndErr() ([]byte, error)
	Error() error
	Close() error
}

// DB holds keys and values. Its methods may be called concurrently.
type DB interface {
	Reader
	// Snapshot returns the current state. The caller must close it.
	Snapshot() Snapshot
	// NewBatch returns an empty batch.
	NewBatch() Batch
	// Apply makes the batch visible to readers atomically and starts to make it durable.
	Apply(Batch) error
	// Wait returns once the applied batch is durable. After an error it is unknown whether it
	// is.
	Wait(Batch) error
	// Writable returns an error while there is no space for writes. Only writes that free
	// space are then allowed.
	Writable() error
	// Deletable returns an error while there is no space even for deletes.
	Deletable() error
	// Save keeps the current contents under a name, which replaces earlier ones.
	Save(name string) error
	// Saved returns all saved contents, in the order of their names.
	Saved() ([]Saved, error)
	// Restore replaces the contents atomically by those saved under a name. Restore(Empty)
	// removes everything that isn't saved. After an error nothing has changed.
	Restore(name string) error
	// Forget removes saved contents.
	Forget(name string) error
	// Close releases the keys and values. They must not be in use any more, and their
	// iterators and snapshots must be closed.
	Close() error
}

// Saved is saved contents.
type Saved struct {
	Name string
	At   time.Time
}

// Empty names empty contents, which are always saved.
const Empty = ""

// ErrNotSaved is returned by Restore and Forget if nothing has that name.
var ErrNotSaved = errors.New("there is no snapshot of that name")

// Forker is a DB that can be copied.
type Forker interface {
	// Fork returns a DB that begins with the current contents. Changes of one are not seen in
	// the other.
	Fork() DB
}

// Snapshot is the state at one moment.
type Snapshot interface {
	Reader
	Close()
}

// Batch collects writes. It copies its arguments. It must be closed; if it was applied, after
// Wait.
type Batch interface {
	// Set writes value under key.
	Set(key, value []byte)
	// Delete removes key, which need not exist.
	Delete(key []byte)
	// DeleteRange removes all keys in [lower, upper).
	DeleteRange(lower, upper []byte)
	// Add adds to the sums under key, which begin at zero.
	Add(key []byte, to Sums)
	// Barrier changes nothing. Waiting for the batch then waits for all batches that were
	// applied before it.
	Barrier()
	// Close releases the batch's memory.
	Close()
}

// Commit applies a batch and waits until it is durable.
func Commit(db DB, b Batch) error {
	if err := db.Apply(b); err != nil {
		return err
	}
	return db.Wait(b)
}
