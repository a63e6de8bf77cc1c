package fluent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// source is the senders' interface to the queue.
type source interface {
	// next takes the oldest batch. It waits for one until ctx ends, and then returns ctx's
	// error.
	next(ctx context.Context) (*batch, error)

	// done marks a taken batch as delivered.
	done(b *batch)

	// back returns the batches of an attempt that failed with cause, or that ended without a
	// failure if cause is nil. They are taken again before others. The caller keeps the
	// slice bs. If the failure takes the server down, its state changes before the call, so
	// that woken goroutines see it.
	back(bs []*batch, cause error)
}

// queue holds the sealed batches until each has an outcome. The oldest are the ones returned
// by senders, followed by the ones on disk and the ones in memory.
//
// The reservation of a batch is released when it is removed: by done, handled, drop or,
// after being written to disk, spilled. A batch read from disk has no reservation.
type queue struct {
	limits     *limits
	counts     *counts
	batchBytes int
	disk       *disk // nil without WithSpill

	failure atomic.Pointer[error] // see why

	mu       sync.Mutex
	returned []*batch          // by order: oldest first
	sealed   fifo              // by seq: oldest first
	tails    map[string]*batch // by tag: the batch in sealed with room for more
	seq      uint64            // of the batch sealed last
	order    uint64            // of the batch first taken last
	held     map[*batch]bool   // taken, without an outcome so far
	memory   int               // number of batches that are not on disk: in returned, sealed, held
	waiters  []*waiter
	asking   int  // senders waiting in next
	reading  bool // the next batch is being read from disk
	spilling bool // the oldest in memory is being written to disk

	urgent uint64 // batches sealed up to here are to be written to disk

	// ready wakes one waiting sender. A sender that takes a batch and leaves another one
	// wakes the next, so one place in the channel is enough. spill wakes the spiller,
	// stranded the fallback.
	ready, spill, stranded chan struct{}

	// changed wakes Shutdown: a batch was removed from disk, an attempt failed, or Close is
	// in a hurry.
	changed chan struct{}
}

var _ source = (*queue)(nil)

func newQueue(o *options, l *limits, c *counts) *queue {
	return &queue{
		limits:     l,
		counts:     c,
		batchBytes: o.batchBytes,
		tails:      make(map[string]*batch),
		held:       make(map[*batch]bool),
		ready:      make(chan struct{}, 1),
		spill:      make(chan struct{}, 1),
		stranded:   make(chan struct{}, 1),
		changed:    make(chan struct{}, 1),
	}
}

// push adds a sealed batch. While senders don't keep up it is appended to the last batch of
// its tag, if there is room.
func (q *queue) push(b *batch) {
	q.mu.Lock()
	if t := q.tails[b.tag]; t != nil && len(t.entries)+len(b.entries) <= q.batchBytes {
		t.entries = append(t.entries, b.entries...)
		t.records += b.records
		q.mu.Unlock()
		recycle(b)
		signal(q.stranded)
		return
	}
	q.seq++
	b.seq = q.seq
	b.extra = q.limits.claim(int64(len(b.entries)))
	q.sealed.push(b)
	q.tails[b.tag] = b
	q.memory++
	q.mu.Unlock()
	signal(q.ready)
	signal(q.stranded)
	if q.limits.half() {
		signal(q.spill)
	}
}

func (q *queue) next(ctx context.Context) (*batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			// Pass the signal that woke this sender on to another.
			signal(q.ready)
			signal(q.stranded)
			return nil, err
		}
		q.mu.Lock()
		b := q.take()
		if b == nil {
			q.asking++
		}
		q.mu.Unlock()
		if b != nil {
			return b, nil
		}
		select {
		case <-q.ready:
		case <-ctx.Done():
		}
		q.mu.Lock()
		q.asking--
		q.mu.Unlock()
	}
}

// takeStranded is take for the error handler. It leaves batches to a waiting sender;
// otherwise a recovered server would never be detected.
func (q *queue) takeStranded() *batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asking > 0 {
		return nil
	}
	return q.take()
}

// take removes and returns the oldest batch, or nil. The caller holds mu.
func (q *queue) take() *batch {
	var b *batch
	if len(q.returned) > 0 {
		b = q.returned[0]
		q.returned = slices.Delete(q.returned, 0, 1)
	} else {
		if b = q.takeFresh(); b == nil {
			return nil
		}
		q.order++
		b.order = q.order
	}
	if b.id == "" {
		b.id = newChunkID()
	}
	q.held[b] = true
	if len(q.returned) > 0 || q.sealed.len() > 0 || q.disk.unread() {
		signal(q.ready)
	}
	return b
}

// takeFresh returns the oldest batch that was never taken. While it is being moved from or
// to the disk, younger ones have to wait. The caller holds mu, which is released while the
// disk is read.
func (q *queue) takeFresh() *batch {
	for q.disk.unread() {
		if q.reading {
			return nil
		}
		q.reading = true
		q.mu.Unlock()
		b := q.disk.read()
		q.mu.Lock()
		q.reading = false
		signal(q.ready)
		if b != nil {
			return b
		}
		signal(q.changed) // batches assumed to be on disk may be damaged
	}
	if q.spilling {
		return nil
	}
	return q.popSealed()
}

// popSealed removes and returns the oldest of sealed, or nil. The caller holds mu.
func (q *queue) popSealed() *batch {
	b := q.sealed.pop()
	if b != nil && q.tails[b.tag] == b {
		delete(q.tails, b.tag)
	}
	return b
}

func (q *queue) done(b *batch) {
	q.counts.batches.Add(1)
	q.complete(b, &q.counts.delivered)
}

// handled records that the error handler took b.
func (q *queue) handled(b *batch) {
	q.complete(b, &q.counts.handled)
}

// complete removes a held batch that has its outcome, and adds its records to counted. A batch
// given up by Shutdown is counted already: an abandoned error handler may take it later.
func (q *queue) complete(b *batch, counted *atomic.Uint64) {
	q.mu.Lock()
	if !q.held[b] {
		q.mu.Unlock()
		return
	}
	delete(q.held, b)
	counted.Add(uint64(b.records))
	if !b.spooled {
		q.resolved(b, 0)
	}
	q.mu.Unlock()
	if b.spooled {
		q.disk.done(b)
		signal(q.changed)
	}
	recycle(b)
}

func (q *queue) back(bs []*batch, cause error) {
	q.putBack(bs)
	q.counts.retried.Add(uint64(len(bs)))
	if cause != nil {
		q.failure.Store(&cause)
	}
	signal(q.stranded)
	signal(q.changed)
}

// why returns the cause of the last failed attempt, nil without one.
func (q *queue) why() error {
	if cause := q.failure.Load(); cause != nil {
		return *cause
	}
	return nil
}

// putBack returns held batches to be taken first, unless Shutdown has given them up
// meanwhile.
func (q *queue) putBack(bs []*batch) {
	if len(bs) == 0 {
		return
	}
	q.mu.Lock()
	for _, b := range bs {
		if q.held[b] {
			q.returned = append(q.returned, b)
		}
		delete(q.held, b)
	}
	slices.SortFunc(q.returned, byOrder)
	q.mu.Unlock()
	signal(q.ready)
	signal(q.spill) // it could not be written while it was held
}

func byOrder(a, b *batch) int { return cmp.Compare(a.order, b.order) }

// dropOldest drops the oldest batch that is not held, and returns its number of records: 0
// if there is none.
func (q *queue) dropOldest() int {
	q.mu.Lock()
	var b *batch
	if len(q.returned) > 0 {
		b = q.returned[0]
		q.returned = slices.Delete(q.returned, 0, 1)
	} else if b = q.popSealed(); b == nil {
		q.mu.Unlock()
		return 0
	}
	n := b.records
	q.resolved(b, n)
	q.mu.Unlock()
	q.counts.droppedOldest.Add(uint64(n))
	recycle(b)
	return n
}

// pending returns the records in memory and not on disk, without the shards, of batches
// sealed up to mark.
func (q *queue) pending(mark uint64) (records int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pendingUpTo(mark)
}

// pendingUpTo is pending for a caller that holds mu.
func (q *queue) pendingUpTo(mark uint64) (records int, bytes int64) {
	count := func(b *batch) {
		if !b.spooled && b.seq <= mark {
			records += b.records
			bytes += int64(len(b.entries))
		}
	}
	for b := range q.held {
		count(b)
	}
	for _, b := range q.returned {
		count(b)
	}
	for _, b := range q.sealed.all() {
		count(b)
	}
	return records, bytes
}

// fifo is a queue of batches.
type fifo struct {
	items []*batch
	head  int
}

func (f *fifo) len() int      { return len(f.items) - f.head }
func (f *fifo) all() []*batch { return f.items[f.head:] }

func (f *fifo) push(b *batch) {
	if f.head > 32 && f.head > len(f.items)/2 {
		n := copy(f.items, f.items[f.head:])
		clear(f.items[n:])
		f.items, f.head = f.items[:n], 0
	}
	f.items = append(f.items, b)
}

func (f *fifo) pop() *batch {
	if f.len() == 0 {
		return nil
	}
	b := f.items[f.head]
	f.items[f.head] = nil
	f.head++
	return b
}

// unpop reverts the last pop.
func (f *fifo) unpop(b *batch) {
	if f.head == 0 { // push has reused the place
		f.items = slices.Insert(f.items, 0, b)
		return
	}
	f.head--
	f.items[f.head] = b
}
