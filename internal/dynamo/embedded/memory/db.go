package memory

import (
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// degree is the maximum number of children of a node of the tree, halved. A batch copies one
// node of each level, so that larger nodes make writes slower, and smaller ones reads.
const degree = 16

// pair is a key with its value. Both are immutable.
type pair struct {
	key   string
	value []byte
}

func before(a, b pair) bool { return a.key < b.key }

type tree = btree.BTreeG[pair]

// DB is a set of keys and values in memory. It implements kv.DB.
type DB struct {
	mu   sync.Mutex // held while a batch is applied
	next *tree      // is changed by batches, and shares its nodes with current
	// current is the state for readers. It is replaced, never changed.
	current atomic.Pointer[tree]

	saved saved
}

var _ kv.DB = (*DB)(nil)

// New returns an empty DB.
func New() *DB {
	return from(empty())
}

func empty() *tree {
	return btree.NewBTreeGOptions(before, btree.Options{NoLocks: true, Degree: degree})
}

func from(t *tree) *DB {
	d := &DB{next: t, saved: saved{states: map[string]savedState{}}}
	d.current.Store(t.Copy())
	return d
}

// Fork returns a DB that begins with the current contents. Changes of one are not seen in the
// other. It implements kv.Forker, in a time that does not depend on the contents.
func (d *DB) Fork() kv.DB { return from(d.state().copied()) }

// state is the contents of a DB at one moment. It needs memory only for later changes.
type state struct{ t *tree }

func (d *DB) state() state { return state{d.current.Load()} }

// copied returns a tree that may be changed. States are copied concurrently, and Copy changes
// its receiver, so it is applied to another one with the same nodes.
func (s state) copied() *tree {
	t := *s.t
	return t.Copy()
}

// replace replaces the contents.
func (d *DB) replace(s state) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next = s.copied()
	d.current.Store(d.next.Copy())
}

// Get implements kv.Reader.
func (d *DB) Get(key []byte) (kv.Value, bool, error) { return get(d.current.Load(), key) }

// Iter implements kv.Reader.
func (d *DB) Iter(lower, upper []byte) (kv.Iter, error) {
	return newIter(d.current.Load(), lower, upper), nil
}

// Snapshot implements kv.DB.
func (d *DB) Snapshot() kv.Snapshot { return snapshot{d.current.Load()} }

// Apply implements kv.DB.
func (d *DB) Apply(b kv.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := b.(*batch).apply(d.next); err != nil {
		d.next = d.state().copied()
		return err
	}
	d.current.Store(d.next.Copy())
	return nil
}

// Wait returns at once: nothing survives the process.
func (d *DB) Wait(kv.Batch) error { return nil }

// Writable returns nil.
func (d *DB) Writable() error { return nil }

// Deletable returns nil.
func (d *DB) Deletable() error { return nil }

// Close does nothing. The garbage collector frees the contents.
func (d *DB) Close() error { return nil }

// snapshot is the state at one moment. It implements kv.Snapshot.
type snapshot struct{ t *tree }

// Get implements kv.Reader.
func (s snapshot) Get(key []byte) (kv.Value, bool, error) { return get(s.t, key) }

// Iter implements kv.Reader.
func (s snapshot) Iter(lower, upper []byte) (kv.Iter, error) { return newIter(s.t, lower, upper), nil }

// Close does nothing.
func (snapshot) Close() {}
