package fluent

import "sync/atomic"

// counts are what happened to records, by batch or by refused call: nothing
// here is written for a record that is accepted.
type counts struct {
	delivered, batches    atomic.Uint64
	retried               atomic.Uint64 // batches
	handled               atomic.Uint64
	spooled               atomic.Uint64
	droppedOldest         atomic.Uint64
	unsent                atomic.Uint64
	full, invalid, closed atomic.Uint64
	panics                atomic.Uint64
}

// Stats says what became of the records of a Logger since it was made.
//
// Posted and Replayed are Delivered, Handled, DroppedOldest, Unsent, Damaged,
// Pending and Spooled together, but for records that were on their way from one to
// another while Stats looked.
type Stats struct {
	Posted    uint64 // accepted by Post and its relatives
	Replayed  uint64 // found on disk by New
	Delivered uint64 // acknowledged, or without WithAck written
	Handled   uint64 // taken by the error handler

	DroppedOldest uint64 // given up under DropOldest
	Unsent        uint64 // given up at Shutdown
	Damaged       uint64 // could not be read back from disk

	// Calls that returned an error: their records were never accepted.
	RefusedFull    uint64 // ErrFull, or a context that ended under Block
	RefusedInvalid uint64 // what can't be encoded, is too large, or has no tag
	RefusedClosed  uint64 // ErrClosed

	Batches        uint64 // delivered
	RetriedBatches uint64 // given back by senders, to be sent again
	SpilledRecords uint64 // ever moved to disk
	Panics         uint64 // of the error handler, recovered. Those of marshalers are errors of their calls

	Pending      int   // records in memory
	PendingBytes int64 // of records in memory, encoded
	Spooled      int   // records on disk
	SpooledBytes int64 // on disk

	Servers []ServerStats // in the order given to New
}

// Stats returns the Logger's counters. It locks each processor's buffer for a
// moment: call it every second, not every record.
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
