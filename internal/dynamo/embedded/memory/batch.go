package memory

import (
	"github.com/tidwall/btree"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// batch collects writes in their order. It implements kv.Batch.
type batch struct{ writes []write }

// write is one write of a batch.
type write struct {
	kind  kind
	at    pair   // for add, its value is what is added
	upper string // for deleteRange
}

type kind uint8

const (
	set kind = iota
	remove
	removeRange
	add
)

// NewBatch implements kv.DB.
func (d *DB) NewBatch() kv.Batch { return new(batch) }

// Set writes value under key.
func (b *batch) Set(key, value []byte) {
	b.writes = append(b.writes, write{at: pair{string(key), append([]byte{}, value...)}})
}

// Delete removes key, which need not exist.
func (b *batch) Delete(key []byte) {
	b.writes = append(b.writes, write{kind: remove, at: pair{key: string(key)}})
}

// DeleteRange removes all keys in [lower, upper).
func (b *batch) DeleteRange(lower, upper []byte) {
	b.writes = append(b.writes, write{kind: removeRange, at: pair{key: string(lower)}, upper: string(upper)})
}

// Add adds to the sums under key.
func (b *batch) Add(key []byte, to kv.Sums) {
	b.writes = append(b.writes, write{kind: add, at: pair{string(key), to.AppendTo(nil)}})
}

// Barrier does nothing: no batch needs waiting for.
func (b *batch) Barrier() {}

// Close does nothing.
func (b *batch) Close() {}

func (b *batch) apply(t *tree) error {
	for i := range b.writes {
		if err := b.writes[i].apply(t); err != nil {
			return err
		}
	}
	return nil
}

func (w *write) apply(t *tree) error {
	switch w.kind {
	case set:
		t.Set(w.at)
	case remove:
		t.Delete(w.at)
	case removeRange:
		t.DeleteRange(w.at, pair{key: w.upper}, &btree.DeleteRangeOptions{NoReturn: true})
	case add:
		old, _ := t.Get(w.at)
		sum, err := kv.AddStored(append([]byte{}, old.value...), w.at.value)
		if err != nil {
			return err
		}
		t.Set(pair{w.at.key, sum})
	}
	return nil
}
