package fluent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kasoku/kasoku/fluent/internal/spool"
)

// spiller moves batches from memory to disk in its own goroutine, so that no call, sender or
// collection waits for a file to be written.
type spiller struct {
	queue  *queue
	disk   *disk
	buffer []byte
	failed bool // the last write failed
}

// spillRetry is the pause before a full or failing disk is tried again.
const spillRetry = time.Second

// run spills until ctx ends.
func (s *spiller) run(ctx context.Context) {
	retry := time.AfterFunc(0, func() { signal(s.queue.spill) })
	defer retry.Stop()
	for {
		select {
		case <-s.queue.spill:
		case <-ctx.Done():
			return
		}
		if s.disk.unstick() {
			signal(s.queue.ready)
		}
		for b := s.queue.startSpill(false); b != nil; b = s.queue.startSpill(false) {
			if err := s.spill(b); err != nil && !errors.Is(err, spool.ErrTooLarge) {
				retry.Reset(spillRetry)
				break
			}
		}
		s.disk.sync()
		if s.disk.isStuck() {
			retry.Reset(spillRetry)
		}
	}
}

// spill writes one batch. The first failure after a success is reported.
func (s *spiller) spill(b *batch) (err error) {
	s.buffer, err = s.disk.write(s.buffer, b)
	b.tooLargeForDisk = errors.Is(err, spool.ErrTooLarge)
	s.queue.endSpill(b, err == nil)
	if err != nil && !s.failed {
		s.disk.fault(err)
	}
	s.failed = err != nil
	return err
}

// spillRest spills all remaining batches, after run has ended and no batch is held, and syncs.
func (s *spiller) spillRest() (err error) {
	for err == nil || errors.Is(err, spool.ErrTooLarge) {
		b := s.queue.startSpill(true)
		if b == nil {
			break
		}
		err = s.spill(b)
	}
	s.disk.closed = s.disk.spool.Sync()
	return err
}

// urge requests that all batches sealed up to mark are written to disk.
func (q *queue) urge(mark uint64) {
	q.mu.Lock()
	q.urgent = max(q.urgent, mark)
	q.mu.Unlock()
	signal(q.spill)
}

// startSpill takes the batch to be written next, if there is one: the oldest in memory if
// batches fill half of the limits, if Flush has urged it, or with all in any case.
//
// Returned batches are older than the ones on disk. They are written first while the disk is
// empty, and otherwise last: behind younger ones they lose their order.
func (q *queue) startSpill(all bool) *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	wanted := func(b *batch) bool { return all || b.seq <= q.urgent }
	if q.limits.half() {
		wanted = func(*batch) bool { return true }
	}
	given := slices.IndexFunc(q.returned, func(b *batch) bool { return !b.spooled && !b.tooLargeForDisk && wanted(b) })
	fresh := q.sealed.len() > 0 && wanted(q.sealed.all()[0])
	var b *batch
	switch {
	case given >= 0 && (all || !fresh || !q.disk.unread()):
		b = q.returned[given]
		q.returned = slices.Delete(q.returned, given, given+1)
	case fresh:
		b = q.popSealed()
	default:
		return nil
	}
	q.held[b] = true
	q.spilling = true
	return b
}

// endSpill removes a batch that was written, or returns it to its place.
func (q *queue) endSpill(b *batch, written bool) {
	q.mu.Lock()
	delete(q.held, b)
	q.spilling = false
	switch {
	case written:
		q.resolved(b, 0)
	case b.tooLargeForDisk && b.order == 0:
		q.order++
		b.order = q.order
		fallthrough
	case b.order > 0:
		q.returned = append(q.returned, b)
		slices.SortFunc(q.returned, byOrder)
	default:
		q.sealed.unpop(b)
	}
	q.mu.Unlock()
	signal(q.ready)
	if written {
		q.counts.spooled.Add(uint64(b.records))
		recycle(b)
	}
}
