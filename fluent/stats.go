package fluent

import "sync/atomic"

// counts are counters per batch or per refused call: nothing here is written for an accepted
// record.
type counts struct {
	delivered, batches    atomic.Uint64
	retried               atomic.Uint64 // in batches
	handled               atomic.Uint64
	spooled               atomic.Uint64
	droppedOldest         atomic.Uint64
	unsent                atomic.Uint64
	full, invalid, closed atomic.Uint64
	panics                atomic.Uint64
}

// Stats are the statistics of a Logger since it was made.
//
// Posted plus Replayed equals Delivered plus Handled, DroppedOldest, Unsent, Damaged,
// Pending and Spooled, except for records that changed their state during the call.
type Stats struct {
	Posted    uint64 // accepted by Post and related functions
	Replayed  uint64 // found on disk by New
	Delivered uint64 // acknowledged, or written without WithAck
	Handled   uint64 // taken by the error handler

	DroppedOldest uint64 // dropped under DropOldest
	Unsent        uint64 // dropped at Shutdown
	Damaged       uint64 // could not be read back from disk

	// Calls that returned an error: their records were not accepted.
	RefusedFull    uint64 // ErrFull, or a context that ended under Block
	RefusedInvalid uint64 // not encodable, too large, or without a tag
	RefusedClosed  uint64 // ErrClosed

	Batches        uint64 // delivered
	RetriedBatches uint64 // returned by senders, to be sent again
	SpilledRecords uint64 // moved to disk so far
	Panics         uint64 // of the error handler, recovered; a marshaler's panic is an error of its call

	Pending      int   // records in memory
	PendingBytes int64 // of records in memory, encoded
	Spooled      int   // records on disk
	SpooledBytes int64 // on disk

	Servers []ServerStats // in the order given to New
}

// Stats returns the Logger's statistics. It locks each processor's buffer for a moment: call
// it every second, not for every record.
func (l *Logger) Stats() Stats {
	s := Stats{
		Posted:         l.collector.posted() + l.adopted.Load(),
		Replayed:       l.replayed,
		Delivered:      l.counts.delivered.Load(),
		Handled:        l.counts.handled.Load(),
		DroppedOldest:  l.counts.droppedOldest.Load(),
		Unsent:         l.counts.unsent.Load(),
		Damaged:        l.disk.lost(),
		RefusedFull:    l.counts.full.Load(),
		RefusedInvalid: l.counts.invalid.Load(),
		RefusedClosed:  l.counts.closed.Load(),
		Batches:        l.counts.batches.Load(),
		RetriedBatches: l.counts.retried.Load(),
		SpilledRecords: l.counts.spooled.Load(),
		Panics:         l.counts.panics.Load(),
		Servers:        l.delivery.states(),
	}
	waiting, waitingBytes := l.collector.waiting()
	s.Pending, s.PendingBytes = l.queue.pending(everything)
	s.Pending += waiting
	s.PendingBytes += waitingBytes
	s.Spooled, s.SpooledBytes = l.disk.records()
	return s
}
