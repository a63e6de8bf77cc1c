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
	g.wait.Go(func() { run(g.ctx) })
}

// stop ends the goroutines and returns when they have.
func (g *goroutines) stop() {
	g.cancel()
	g.wait.Wait()
}

// ending is the end of a Logger: its goroutines, and what came of ending them.
type ending struct {
	senders, fallback, others goroutines

	hasty atomic.Bool // Close was called

	mu    sync.Mutex
	begun bool
	why   error         // of the context that ended
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

// begin says whether the caller is the first.
func (e *ending) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := !e.begun
	e.begun = true
	return first
}

// giveUp has the shutdown under way wait no longer.
func (e *ending) giveUp(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil {
		e.why = why
		close(e.hurry)
	}
}

// Shutdown refuses new records, waits until all pending ones, those on disk
// included, are delivered or taken by the error handler, and ends all goroutines.
// Also while no server is up it waits for one, until ctx ends.
//
// When ctx ends before, what remains is written to disk with WithSpill, else
// offered to the error handler whatever its limit, else lost and counted. An error
// handler has a second for each batch then and five for all; one that doesn't
// return is left behind.
//
// It returns an *UnsentError if records remain, on disk or lost, and else what
// was wrong with WithSpill's directory at the end. Other calls
// of Shutdown and Close wait for the first and return the same; the first gives
// up as soon as the context of any of them ends.
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

// Close is Shutdown with WithCloseTimeout's time, and without waiting for a
// server while none is up, if there is something else to do: it has what is pending
// written to disk with WithSpill, or offered to the error handler, whatever its
// limit, and returns once they have it all.
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

// drain waits until memory is empty and then until the disk is, for Close only
// as long as a server is up; at most until Shutdown gives up.
func (l *Logger) drain(ctx context.Context, empty <-chan struct{}) {
	for met := l.awaitOrGiveUp(ctx, empty); met; met = l.awaitOrGiveUp(ctx, l.queue.changed) {
		if records, _ := l.disk.records(); records == 0 || l.ending.hasty.Load() && l.delivery.down() {
			return
		}
	}
}

// awaitOrGiveUp says whether c came before Shutdown gave up.
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

// handlerGrace is how long Shutdown waits for a call of the error handler,
// lastGrace how long it makes new ones when it has given up otherwise.
const (
	handlerGrace = time.Second
	lastGrace    = 5 * time.Second
)

// stopFallback ends the fallback's goroutine, and says whether it has ended. A
// handler that doesn't return is left behind with its batch.
func (l *Logger) stopFallback() bool {
	l.ending.fallback.cancel()
	return within(handlerGrace, l.ending.fallback.wait.Wait)
}

// within calls f and says whether it returned in time. If not, its goroutine
// goes on.
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

// settle finds a place for what is left when all goroutines have ended, or
// counts it as lost, and closes the disk. cause is why no server is up, if so;
// dropped is what was given up while Shutdown waited.
func (l *Logger) settle(cause error, dropped int, handlerLeft bool) error {
	l.ending.mu.Lock()
	cause = errors.Join(l.ending.why, cause)
	l.ending.mu.Unlock()
	if l.disk != nil {
		cause = errors.Join(cause, l.spiller.rest())
	}
	if !handlerLeft {
		l.fallback.last(cause)
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

// errLater is the cause when no other is known: the server that was down when
// Shutdown stopped waiting is up again.
var errLater = errors.New("no server was up")

// abandon gives up what is in memory, ends the Flush calls that wait for it, and
// returns how many records that is.
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
