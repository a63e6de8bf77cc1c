package disk

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/kasoku/kasoku/internal/dynamo/embedded/kv"
)

// batch implements kv.Batch.
type batch struct {
	b      *pebble.Batch
	syncer *batchSyncer // closes it in the background; nil if it can be closed at once
}

// NewBatch implements kv.DB.
func (d *DB) NewBatch() kv.Batch { return &batch{b: d.db.NewBatch()} }

// Set writes value under key. Writing to memory can't fail: pebble's error is for batches
// that are in use elsewhere.
func (b *batch) Set(key, value []byte) { _ = b.b.Set(key, value, nil) }

// Delete removes key, which need not exist.
func (b *batch) Delete(key []byte) { _ = b.b.Delete(key, nil) }

// DeleteRange removes all keys in [lower, upper).
func (b *batch) DeleteRange(lower, upper []byte) { _ = b.b.DeleteRange(lower, upper, nil) }

// Add adds to the sums under key.
func (b *batch) Add(key []byte, to kv.Sums) {
	var buf [16]byte
	_ = b.b.Merge(key, to.AppendTo(buf[:0]), nil)
}

// Barrier writes only to the log.
func (b *batch) Barrier() { _ = b.b.LogData([]byte("mark"), nil) }

// Close releases the batch's memory.
func (b *batch) Close() {
	if b.syncer != nil {
		b.syncer.add(b.b)
		return
	}
	_ = b.b.Close()
}
