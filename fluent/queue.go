package fluent

import (
	"context"
	"slices"
	"sync"
)

// source is what senders know of the queue.
type source interface {
	// next takes the oldest batch. It waits for one until ctx ends, and then
	// returns its error.
	next(ctx context.Context) (*batch, error)

	// done says that a taken batch was delivered.
	done(b *batch)

	// back returns batches of an attempt that failed with cause. They are
	// given out again before others. bs itself remains the caller's.
	back(bs []*batch, cause error)
}

// queue holds sealed batches in memory in the order of their sealing. Those
// that senders gave back come first.
type queue struct {
	mu       sync.Mutex
	returned []*batch // by order: oldest first
	sealed   []*batch // by seq: oldest first
	seq      uint64   // of the batch sealed last
	order    uint64   // of the batch first taken last

	// ready wakes one waiting sender. Who takes a batch and leaves another
	// wakes the next one, so one place in the channel is enough.
	ready chan struct{}
}

var _ source = (*queue)(nil)

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// push adds a batch at the end.
func (q *queue) push(b *batch) {
	q.mu.Lock()
	q.seq++
	b.seq = q.seq
	q.sealed = append(q.sealed, b)
	q.mu.Unlock()
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) next(ctx context.Context) (*batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if b := q.take(); b != nil {
			return b, nil
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
		}
	}
}

// take removes the oldest batch, or returns nil.
func (q *queue) take() *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	var from *[]*batch
	switch {
	case len(q.returned) > 0:
		from = &q.returned
	case len(q.sealed) > 0:
		from = &q.sealed
	default:
		return nil
	}
	b := (*from)[0]
	*from = slices.Delete(*from, 0, 1)
	if b.order == 0 {
		q.order++
		b.order = q.order
	}
	if b.id == "" {
		b.id = newChunkID()
	}
	if len(q.returned)+len(q.sealed) > 0 {
		q.wake()
	}
	return b
}

func (q *queue) done(*batch) {}

func (q *queue) back(bs []*batch, _ error) {
	q.mu.Lock()
	q.returned = append(q.returned, bs...)
	slices.SortFunc(q.returned, func(a, b *batch) int { return int(a.order) - int(b.order) })
	q.mu.Unlock()
	q.wake()
}
