package fluent

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// waiter is a Flush or Shutdown that waits until every batch that was in memory at its start
// has an outcome. Guarded by the queue's mutex.
type waiter struct {
	mark    uint64 // the seq of its last batch
	left    int    // batches up to mark that are still in memory
	dropped int    // records dropped meanwhile
	why     error  // reason for dropping them
	reached chan struct{}
}

// await begins to wait for the batches in memory now.
func (q *queue) await() *waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &waiter{mark: q.seq, left: q.memory, reached: make(chan struct{})}
	if w.left == 0 {
		close(w.reached)
	} else {
		q.waiters = append(q.waiters, w)
	}
	return w
}

// forget removes the waiter w.
func (q *queue) forget(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters = slices.DeleteFunc(q.waiters, func(o *waiter) bool { return o == w })
}

// resolved records that b is no longer in memory, and how many of its records were dropped.
// It releases b's reservation before it wakes waiters, so that a caller of Flush finds room.
// The caller holds mu.
func (q *queue) resolved(b *batch, dropped int) {
	q.limits.release(int64(len(b.entries))+b.extra, int64(b.records))
	q.memory--
	q.waiters = slices.DeleteFunc(q.waiters, func(w *waiter) bool {
		if b.seq <= w.mark {
			w.left--
			if w.dropped += dropped; dropped > 0 {
				w.why = ErrFull
			}
		}
		if w.left == 0 {
			close(w.reached)
		}
		return w.left == 0
	})
}

// flushGrace is how long Flush leaves batches to the senders, while a server is up, before
// they are written to disk, if there is one.
const flushGrace = 200 * time.Millisecond

// Flush waits until everything posted before the call is delivered, taken by the error
// handler or, with WithSpill, synced to disk. If ctx ends before, or records are dropped
// meanwhile, it returns an *UnsentError.
//
// Records of other goroutines are included if their call had returned before Flush began.
func (l *Logger) Flush(ctx context.Context) error {
	l.collector.collect(false)
	w := l.queue.await()
	defer l.queue.forget(w)
	if l.disk != nil {
		grace := flushGrace
		if l.delivery.down() {
			grace = 0
		}
		defer time.AfterFunc(grace, func() { l.queue.urge(w.mark) }).Stop()
	}
	select {
	case <-w.reached:
	case <-ctx.Done():
		records, _ := l.queue.pending(w.mark)
		return &UnsentError{Records: records, Err: ctx.Err()}
	}
	if w.dropped > 0 {
		return &UnsentError{Records: w.dropped, Err: w.why}
	}
	if l.disk == nil {
		return nil
	}
	if err := l.syncDisk(ctx); err != nil {
		return fmt.Errorf("fluent: flush: %w", err)
	}
	return nil
}
