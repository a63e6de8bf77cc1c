package fluent

import (
	"context"
	"fmt"
	"sync"

	"github.com/kasoku/kasoku/fluent/internal/forward"
	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// everything is a mark above the seq of every batch.
const everything = ^uint64(0)

// fallback passes batches to the error handler while no server is up. It has its own
// goroutine, so that a slow handler does not delay senders or collection and calls never
// overlap.
type fallback struct {
	logger *Logger
	buffer []byte

	mu      sync.Mutex
	handler ErrorHandler
	limit   int
	closing bool
}

func newFallback(l *Logger) *fallback {
	return &fallback{logger: l, handler: l.options.errorHandler, limit: l.options.pendingLimit}
}

// SetErrorHandler replaces the error handler; nil removes it. It may be called at any time;
// a running call of the old one continues. See ErrorHandler and Config.PendingLimit.
func (l *Logger) SetErrorHandler(h ErrorHandler) {
	l.fallback.mu.Lock()
	l.fallback.handler = h
	l.fallback.mu.Unlock()
	signal(l.queue.stranded)
}

// settings returns the handler and the number of records that may be pending before it is
// called. The exported field is read after the first batch, so after the first Post.
func (f *fallback) settings() (h ErrorHandler, limit int, closing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h = f.handler; h == nil {
		h = f.logger.ErrorHandler
	}
	return h, f.limit, f.closing
}

// close is called when Shutdown begins: undeliverable records then move to disk.
func (f *fallback) close() {
	f.mu.Lock()
	f.closing = true
	f.mu.Unlock()
	signal(f.logger.queue.stranded)
}

// run passes batches to the handler until ctx ends. It is woken by each failed attempt and
// each new batch.
func (f *fallback) run(ctx context.Context) {
	q := f.logger.queue
	for {
		select {
		case <-q.stranded:
		case <-ctx.Done():
			return
		}
		if f.logger.delivery.down() {
			f.handleDown(ctx)
		}
	}
}

// handleDown handles the pending batches while no server is up.
func (f *fallback) handleDown(ctx context.Context) {
	q := f.logger.queue
	records, _ := q.pending(everything)
	spooled, _ := f.logger.disk.records()
	if records+spooled == 0 {
		return
	}
	h, limit, closing := f.settings()
	if f.logger.ending.hasty.Load() {
		limit = 0
	}
	if h != nil && records+spooled > limit {
		f.offer(ctx, h, q.why())
	}
	if closing && f.logger.disk != nil {
		q.urge(everything)
	}
}

// offer passes the oldest batches to the handler, until it refuses one.
func (f *fallback) offer(ctx context.Context, h ErrorHandler, cause error) {
	for ctx.Err() == nil && f.offerOne(h, cause) {
	}
}

// offerOne passes the oldest batch to the handler and reports whether it was taken.
func (f *fallback) offerOne(h ErrorHandler, cause error) bool {
	q := f.logger.queue
	b := q.takeStranded()
	if b == nil {
		return false
	}
	if err := f.call(h, cause, b); err != nil {
		q.putBack([]*batch{b})
		return false
	}
	q.handled(b)
	return true
}

// offerRest offers the remaining batches when Shutdown gives up, after run has ended.
func (f *fallback) offerRest(cause error) {
	h, _, _ := f.settings()
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastGrace)
	defer cancel()
	taken := true
	for taken && ctx.Err() == nil && within(handlerGrace, func() { taken = f.offerOne(h, cause) }) {
	}
}

// call passes one batch to h. A panic counts as an error.
func (f *fallback) call(h ErrorHandler, cause error, b *batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fluent: the error handler panicked: %v", p)
			f.logger.counts.panics.Add(1)
			f.logger.events.report(Event{Kind: HandlerFailed, Records: b.records, Err: err})
		}
	}()
	f.buffer, err = forward.AppendSingles(f.buffer[:0], &forward.Message{Tag: b.tag, Entries: b.entries})
	if err != nil {
		return fmt.Errorf("fluent: reading a batch: %w", err)
	}
	return h.HandleError(cause, f.buffer)
}

// adopt accepts all or none of the records of another Logger: messages of one tag, which is
// unchanged.
func (l *Logger) adopt(data []byte) error {
	b, err := parseMessages(data)
	if err != nil || b.records == 0 {
		return err
	}
	bytes, records := int64(len(b.entries)), int64(b.records)
	if !l.limits.reserve(bytes, records) {
		l.unborrow()
		if !l.limits.reserve(bytes, records) {
			return ErrFull
		}
	}
	s := &l.collector.shards[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // after the last collection b would never be sent
		l.limits.release(bytes, records)
		return ErrClosed
	}
	l.adopted.Add(uint64(b.records))
	l.queue.push(b)
	return nil
}

// parseMessages returns a batch of the data passed to an error handler.
func parseMessages(data []byte) (*batch, error) {
	b := newBatch("", len(data))
	for len(data) > 0 {
		n, err := msgpack.Skip(data)
		if err != nil || data[0] != 0x93 {
			return nil, fmt.Errorf("fluent: not a message: %v", err)
		}
		m := data[1:n]
		data = data[n:]
		tagLen, err := msgpack.Skip(m)
		if err != nil {
			return nil, fmt.Errorf("fluent: not a message: %w", err)
		}
		if b.records == 0 {
			r := msgpack.NewReader(m)
			if b.tag, err = r.String(); err != nil {
				return nil, fmt.Errorf("fluent: not a message: %w", err)
			}
		}
		b.entries = append(b.entries, 0x92)
		b.entries = append(b.entries, m[tagLen:]...)
		b.records++
	}
	return b, nil
}
