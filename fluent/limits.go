package fluent

import (
	"sync"
	"sync/atomic"
)

// limits accounts for the pending records in memory against WithMemory and WithRecords.
//
// A shard takes credit from it in pieces, so that most calls need none. Reserved is the
// credit of the shards plus the contents of the shards, the queue and the senders. So the
// pending records never exceed the limits.
type limits struct {
	maxBytes   int64
	maxRecords int64 // 0: no limit, and records are not counted
	bytes      atomic.Int64
	records    atomic.Int64

	// Size of a piece of credit. It is small enough that all shards together can't hold back
	// much of a small limit.
	pieceBytes   int64
	pieceRecords int64

	// Number of calls that wait for room, under Block. A release closes room if there are
	// any, so that all try again.
	waiting atomic.Int64
	mu      sync.Mutex
	room    chan struct{}
}

const largestPiece = 64 << 10

// batchCost is the minimum cost of a batch, unless the limit is very small. It is about the
// memory of the smallest batch: if every record has its own tag, the memory is in the
// batches and not in their records.
const batchCost = 1 << 10

func newLimits(maxBytes, maxRecords int64, shards int) *limits {
	parts := 16 * int64(shards)
	l := &limits{maxBytes: maxBytes, maxRecords: maxRecords, room: make(chan struct{})}
	l.pieceBytes = min(largestPiece, maxBytes/parts)
	l.pieceRecords = min(4096, maxRecords/parts)
	return l
}

// reserve reserves bytes and records, or nothing. It wakes no waiter when it returns a part,
// because waiting calls would otherwise wake each other for ever.
func (l *limits) reserve(bytes, records int64) bool {
	if !raise(&l.bytes, bytes, l.maxBytes) {
		return false
	}
	if l.maxRecords == 0 || raise(&l.records, records, l.maxRecords) {
		return true
	}
	l.bytes.Add(-bytes)
	return false
}

// claim reserves the difference between bytes and batchCost, even beyond the limit, and
// returns it.
func (l *limits) claim(bytes int64) int64 {
	extra := max(0, min(batchCost, l.maxBytes/batchCost)-bytes)
	l.bytes.Add(extra)
	return extra
}

// raise adds by to n unless that exceeds limit.
func raise(n *atomic.Int64, by, limit int64) bool {
	for {
		have := n.Load()
		if have+by > limit {
			return false
		}
		if n.CompareAndSwap(have, have+by) {
			return true
		}
	}
}

// release returns a reservation and wakes the waiting calls.
func (l *limits) release(bytes, records int64) {
	l.bytes.Add(-bytes)
	if l.maxRecords > 0 {
		l.records.Add(-records)
	}
	if l.waiting.Load() == 0 {
		return
	}
	l.mu.Lock()
	close(l.room)
	l.room = make(chan struct{})
	l.mu.Unlock()
}

// await returns the channel that is closed at the next release. The caller must have added
// itself to waiting before, and must try once more afterwards: otherwise
//
//	call: finds no room     sender: releases, finds no waiter
//	call: waits             (nothing is released any more)
func (l *limits) await() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room
}

// half reports whether more than half of a limit is reserved.
func (l *limits) half() bool {
	return l.bytes.Load() > l.maxBytes/2 || l.maxRecords > 0 && l.records.Load() > l.maxRecords/2
}
