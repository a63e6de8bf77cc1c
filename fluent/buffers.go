package fluent

import (
	"math/bits"
	"sync"
)

// batchPools hold batches for reuse, by the size of their buffer: pool i has the batches
// with room for at least 1<<i bytes.
var batchPools [25]sync.Pool

const smallestBuffer = 9 // 512 bytes

// newBatch returns an empty batch with room for size bytes.
func newBatch(tag string, size int) *batch {
	class := max(bits.Len(uint(max(size, 1)-1)), smallestBuffer)
	if class < len(batchPools) {
		if b, ok := batchPools[class].Get().(*batch); ok {
			b.tag = tag
			return b
		}
		size = 1 << class
	}
	return &batch{tag: tag, entries: make([]byte, 0, size)}
}

// recycle returns an unused batch to its pool.
func recycle(b *batch) {
	class := bits.Len(uint(cap(b.entries))) - 1
	if class < smallestBuffer || class >= len(batchPools) {
		return
	}
	*b = batch{entries: b.entries[:0]}
	batchPools[class].Put(b)
}
