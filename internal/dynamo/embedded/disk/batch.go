package disk

import (
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// Batch collects writes. It copies its arguments. It must be closed; if it was applied,
// after Wait.
type Batch struct {
	b      *pebble.Batch
	syncer *batchSyncer // closes it in the background; nil if it can be closed at once
}

// NewBatch returns an empty batch.
func (d *DB) NewBatch() *Batch { return &Batch{b: d.db.NewBatch()} }

// Set writes value under key. Writing to memory can't fail: pebble's error is for batches
// that are in use elsewhere.
func (b *Batch) Set(key, value []byte) { _ = b.b.Set(key, value, nil) }

// Delete removes key, which need not exist.
func (b *Batch) Delete(key []byte) { _ = b.b.Delete(key, nil) }

// DeleteRange removes all keys in [lower, upper).
func (b *Batch) DeleteRange(lower, upper []byte) { _ = b.b.DeleteRange(lower, upper, nil) }

// Add adds deltas to the sums under key, which begin at zero.
func (b *Batch) Add(key []byte, deltas ...int64) {
	var buf [4 * sumBytes]byte
	text := buf[:0]
	for _, n := range deltas {
		text = binary.LittleEndian.AppendUint64(text, uint64(n))
	}
	_ = b.b.Merge(key, text, nil)
}

// Barrier writes only to the log. Waiting for the batch then waits for all batches that were
// applied before it.
func (b *Batch) Barrier() { _ = b.b.LogData([]byte("mark"), nil) }

// Close releases the batch's memory.
func (b *Batch) Close() {
	if b.syncer != nil {
		b.syncer.add(b.b)
		return
	}
	_ = b.b.Close()
}
