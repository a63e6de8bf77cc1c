package fluent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// goroutines are goroutines that end together.
type goroutines struct {
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

func (g *goroutines) init() { g.ctx, g.cancel = context.WithCancel(context.Background()) }

func (g *goroutines) start(run func(context.Context)) {
	g.wait.Add(1)
	go func() {
		defer g.wait.Done()
		run(g.ctx)
	}()
}

// stop ends the goroutines and returns when they have.
func (g *goroutines) stop() {
	g.cancel()
	g.wait.Wait()
}

// ending is the end of a Logger: its goroutines, and the result of Shutdown.
type ending struct {
	senders, fallback, others goroutines

	hasty atomic.Bool // Close was called

	mu    sync.Mutex
	begun bool
	why   error         // error of the context that ended
	hurry chan struct{} // closed when why is set
	done  chan struct{} // closed when err is set
	err   error
}

func (e *ending) init() {
	e.senders.init()
	e.fallback.init()
	e.others.init()
	e.hurry, e.done = make(chan struct{}), make(chan struct{})
}

// begin reports whether the caller is the first.
func (e *ending) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.begun
	e.begun = true
	return first
}

// giveUp ends the waiting of the running shutdown.
func (e *ending) giveUp(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		e.why = why
		close(e.hurry)
	}
}

// Shutdown refuses new records, waits until all pending ones, including those on disk, are
// delivered or taken by the error handler, and ends all goroutines. If no server is up it
// waits for one, until ctx ends.
//
// If ctx ends before, the remaining records are written to disk with WithSpill, otherwise
// offered to the error handler whatever its limit, otherwise lost and counted. An error
// handler then has a second for each batch and five for all; one that doesn't return is
// abandoned.
//
// It returns an *UnsentError if records remain, on disk or lost, and otherwise the last
// error of WithSpill's directory. Other calls of Shutdown and Close wait for the first and
// return the same; the first gives up as soon as the context of any of them ends.
func (l *Logger) Shutdown(ctx context.Context) error {
	e := &l.ending
	if e.begin() {
		e.err = l.shutdown(ctx)
		close(e.done)
		return e.err
	}
	signal(l.queue.changed)
	signal(l.queue.stranded)
	select {
	case <-e.done:
	case <-ctx.Done():
		e.giveUp(ctx.Err())
		<-e.done
	}
	return e.err
}

// Close is Shutdown with WithCloseTimeout's time. If no server is up it does not wait for
// one if there is an alternative: pending records are written to disk with WithSpill, or
// offered to the error handler whatever its limit, and Close returns when that is done.
func (l *Logger) Close() error {
	l.ending.hasty.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), l.options.closeTimeout)
	defer cancel()
	return l.Shutdown(ctx)
}

func (l *Logger) shutdown(ctx context.Context) error {
	close(l.closing)
	l.collector.collect(true)
	w := l.queue.await()
	l.fallback.close()
	l.drain(ctx, w.reached)
	l.queue.forget(w)
	cause := error(nil)
	if l.delivery.down() {
		cause = l.queue.why()
	}
	l.ending.senders.cancel()
	l.delivery.wait()
	handlerLeft := !l.stopFallback()
	l.ending.others.stop()
	err := l.settle(cause, w.dropped, handlerLeft)
	l.events.close()
	return err
}

// drain waits until memory is empty and then until the disk is, for Close only while a
// server is up; at most until Shutdown gives up.
func (l *Logger) drain(ctx context.Context, empty <-chan struct{}) {
	for met := l.awaitOrGiveUp(ctx, empty); met; met = l.awaitOrGiveUp(ctx, l.queue.changed) {
		if records, _ := l.disk.records(); records == 0 || l.ending.hasty.Load() && l.delivery.down() {
			return
		}
	}
}

// awaitOrGiveUp reports whether c was closed before Shutdown gave up.
func (l *Logger) awaitOrGiveUp(ctx context.Context, c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-l.ending.hurry:
	case <-ctx.Done():
		l.ending.giveUp(ctx.Err())
	}
	return false
}

// handlerGrace is how long Shutdown waits for a call of the error handler, lastGrace how
// long it makes new calls after giving up otherwise.
const (
	handlerGrace = time.Second
	lastGrace    = 5 * time.Second
)

// stopFallback ends the fallback's goroutine and reports whether it has ended. A handler
// that doesn't return is abandoned with its batch.
func (l *Logger) stopFallback() bool {
	l.ending.fallback.cancel()
	return within(handlerGrace, l.ending.fallback.wait.Wait)
}

// within calls f and reports whether it returned in time. Otherwise its goroutine continues.
func within(d time.Duration, f func()) bool {
	returned := make(chan struct{})
	go func() {
		f()
		close(returned)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-returned:
		return true
	case <-ctx.Done():
		return false
	}
}

// settle moves the remaining records to disk or to the error handler after all goroutines
// have ended, or counts them as lost, and closes the disk. cause is the reason why no server
// is up, if so; dropped is the number of records dropped while Shutdown waited.
func (l *Logger) settle(cause error, dropped int, handlerLeft bool) error {
	l.ending.mu.Lock()
	cause = errors.Join(l.ending.why, cause)
	l.ending.mu.Unlock()
	if l.disk != nil {
		cause = errors.Join(cause, l.spiller.spillRest())
	}
	if !handlerLeft {
		l.fallback.offerRest(cause)
	}
	lost := l.queue.abandon()
	if lost > 0 {
		l.counts.unsent.Add(uint64(lost))
		l.events.report(Event{Kind: Dropped, Records: lost, Err: cause})
	}
	if dropped > 0 {
		cause = errors.Join(cause, ErrFull)
	}
	spooled, _ := l.disk.records()
	if err := l.disk.close(); err != nil {
		cause = errors.Join(cause, err)
	}
	if spooled+lost+dropped == 0 {
		return l.disk.closingFailed()
	}
	if cause == nil {
		cause = errLater
	}
	return &UnsentError{Records: spooled + lost + dropped, Spooled: spooled, Err: cause}
}

// errLater is the cause if no other is known: the server that was down when Shutdown stopped
// waiting is up again.
var errLater = errors.New("no server was up")

// abandon drops the records in memory, ends the Flush calls that wait for them, and returns
// their number.
func (q *queue) abandon() (lost int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lost, _ = q.pendingUpTo(everything)
	for _, w := range q.waiters {
		n, _ := q.pendingUpTo(w.mark)
		w.dropped += n
		w.why = ErrClosed
		close(w.reached)
	}
	q.waiters, q.memory = nil, 0
	q.returned, q.sealed = nil, fifo{}
	clear(q.tails)
	clear(q.held)
	return lost
}
