package fluent

import (
	"sync"
	"sync/atomic"
)

// limits counts what is pending in memory against WithMemory and WithRecords.
//
// A shard takes credit from it in pieces, so that a call mostly needs none:
// what is reserved is what the shards may still take, plus what is in shards,
// in the queue and with senders. So what is pending never passes the limits.
type limits struct {
	maxBytes   int64
	maxRecords int64 // 0: no limit, and records are not counted
	bytes      atomic.Int64
	records    atomic.Int64

	// What a shard takes at once. Small enough that all shards together
	// can't hold back much of a small limit.
	pieceBytes   int64
	pieceRecords int64

	// Calls that wait for room, under Block. Who releases something and finds
	// one closes room, so that all look again.
	waiting atomic.Int64
	mu      sync.Mutex
	room    chan struct{}
}

const largestPiece = 64 << 10

// batchCost is what a batch counts at least, unless the limit is very small. It
// is about what the smallest takes: where every record has a tag of its own, the
// memory is in the batches and not in their records.
const batchCost = 1 << 10

func newLimits(maxBytes, maxRecords int64, shards int) *limits {
	parts := 16 * int64(shards)
	l := &limits{maxBytes: maxBytes, maxRecords: maxRecords, room: make(chan struct{})}
	l.pieceBytes = min(largestPiece, maxBytes/parts)
	l.pieceRecords = min(4096, maxRecords/parts)
	return l
}

// reserve takes bytes and records, all or nothing. It wakes nobody when it
// gives back a part, or waiting calls would wake each other for ever.
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

// claim takes, room or not, what a batch of so many bytes lacks to batchCost, and
// returns how much that is.
func (l *limits) claim(bytes int64) int64 {
	extra := max(0, min(batchCost, l.maxBytes/batchCost)-bytes)
	l.bytes.Add(extra)
	return extra
}

// raise adds by to n unless that passes most.
func raise(n *atomic.Int64, by, most int64) bool {
	for {
		have := n.Load()
		if have+by > most {
			return false
		}
		if n.CompareAndSwap(have, have+by) {
			return true
		}
	}
}

// release gives back what was reserved, and wakes the calls that wait for it.
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

// await returns the channel that is closed at the next release. Who asks must
// have added itself to waiting before, and must try once more after: otherwise
//
//	call: finds no room     sender: releases, finds nobody waiting
//	call: waits             (nothing is released any more)
func (l *limits) await() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room
}

// half says whether more than half of a limit is reserved.
func (l *limits) half() bool {
	return l.bytes.Load() > l.maxBytes/2 || l.maxRecords > 0 && l.records.Load() > l.maxRecords/2
}
