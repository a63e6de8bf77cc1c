package memory

import (
	"unsafe"

	"github.com/tidwall/btree"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// borrowed returns the bytes of key as a string that is valid as long as they are not
// changed.
func borrowed(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }

func get(t *tree, key []byte) (kv.Value, bool, error) {
	p, ok := t.Get(pair{key: borrowed(key)})
	return kv.Borrowed(p.value, nil), ok, nil
}

// iter iterates over the keys in [lower, upper). It implements kv.Iter.
type iter struct {
	it           btree.IterG[pair]
	lower, upper string
	at           pair
}

func newIter(t *tree, lower, upper []byte) *iter {
	i := &iter{lower: string(lower), upper: string(upper)}
	i.it.Init(t, false)
	return i
}

// found keeps the iterator's key if there is one within the bounds, and reports whether there
// is.
func (i *iter) found(ok bool) bool {
	if ok {
		i.at = i.it.Item()
		ok = i.lower <= i.at.key && i.at.key < i.upper
	}
	if !ok {
		i.at = pair{}
	}
	return ok
}

// First moves to the first key.
func (i *iter) First() bool { return i.found(i.it.Seek(pair{key: i.lower})) }

// Last moves to the last key.
func (i *iter) Last() bool {
	if i.it.Seek(pair{key: i.upper}) {
		return i.found(i.it.Prev())
	}
	return i.found(i.it.Last()) // all keys are below upper
}

// Next moves to the next key.
func (i *iter) Next() bool { return i.found(i.it.Next()) }

// Prev moves to the previous key.
func (i *iter) Prev() bool { return i.found(i.it.Prev()) }

// Key returns the key.
func (i *iter) Key() []byte { return unsafe.Slice(unsafe.StringData(i.at.key), len(i.at.key)) }

// Value returns the value under the key.
func (i *iter) Value() []byte { return i.at.value }

// ValueAndErr is Value.
func (i *iter) ValueAndErr() ([]byte, error) { return i.at.value, nil }

// Error returns nil: memory can be read.
func (i *iter) Error() error { return nil }

// Close does nothing.
func (i *iter) Close() error { return nil }
