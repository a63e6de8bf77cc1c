package edge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// What ends the context of an exchange, found with context.Cause.
var (
	ErrClientGone     = errors.New("edge: the client went away")
	ErrRequestTimeout = errors.New("edge: the request timeout passed")
)

// Context is made at the first call and is cancelled when the client goes away,
// the request timeout passes, the server is stopped hard, or Serve has
// returned. It costs a timer and some memory, so that an answer from the cache
// should do without. Call it from the goroutine that Serve runs in. On a streaming
// server the request timeout is over when the answer begins; the client is looked
// after until Serve returns.
func (x *Exchange) Context() context.Context {
	if x.watch == nil {
		x.watch = newWatch(x)
	}
	return x.watch.ctx
}

// Lasting is a context for what has to go on when the client leaves, or the request
// timeout passes: it ends when the server is stopped hard. Serve does not return before
// that is done, so that a server which stops waits for it.
func (x *Exchange) Lasting() context.Context {
	if x.srv == nil { // detached
		return x.watch.ctx
	}
	return x.srv.hard
}

// Stopping is closed when the server begins to stop: answers that have no end of
// their own, and upgraded connections, should then be brought to one, or they are cut
// when the grace period is over.
func (x *Exchange) Stopping() <-chan struct{} {
	if x.srv == nil {
		return nil
	}
	return x.srv.conns.Stopped()
}

// Deadline is when the time for the request as a whole is over. For work that
// goes on when the client leaves, and so can't use Context. It is the zero time on a
// streaming server without request timeout.
func (x *Exchange) Deadline() time.Time {
	if x.set == nil { // detached
		until, ok := x.watch.ctx.Deadline()
		if !ok {
			until = x.start.Add(defaultRequestTimeout)
		}
		return until
	}
	if x.set.limits.RequestTimeout == 0 {
		return time.Time{}
	}
	return x.start.Add(x.set.limits.RequestTimeout)
}

// How often a client is looked after while its request is under way: soon at
// first, then ever more rarely. A client that leaves right after its request
// costs the origin little.
const (
	watchFirst  = 25 * time.Millisecond
	watchLast   = 250 * time.Millisecond
	watchStream = time.Second // of a streaming server: thousands may wait for long
)

// watch looks from time to time whether a client is still there. It asks the
// kernel for the state of the connection and reads nothing, so that no byte of
// a pipelined request can get lost.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	conn   *conn

	// mu orders look and stop: after stop has returned, no look runs or will.
	mu      sync.Mutex
	stopped bool
	timer   *time.Timer
	pause   time.Duration
	longest time.Duration // of pause
	limit   *time.Timer   // ends the time for the answer to begin; nil where ctx has a deadline
	release context.CancelFunc
}

func newWatch(x *Exchange) *watch {
	base := x.base
	if base == nil {
		base = x.srv.hard
	}
	w := &watch{conn: x.conn, pause: watchFirst, longest: watchLast}
	base, w.cancel = context.WithCancelCause(base)
	if x.srv.cfg.Streaming {
		w.longest = watchStream
		w.ctx, w.release = base, func() {}
		if until := x.Deadline(); !until.IsZero() && !x.answer.begun {
			w.limit = time.AfterFunc(time.Until(until), func() { w.cancel(ErrRequestTimeout) })
		}
	} else {
		w.ctx, w.release = context.WithDeadlineCause(base, x.Deadline(), ErrRequestTimeout)
	}
	if w.conn != nil && w.conn.Raw != nil {
		w.mu.Lock()
		w.timer = time.AfterFunc(w.pause, w.look)
		w.mu.Unlock()
	}
	return w
}

func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if socket.PeerClosed(w.conn.Raw) {
		w.cancel(ErrClientGone)
		return
	}
	w.pause = min(2*w.pause, w.longest)
	w.timer.Reset(w.pause)
}

// answerBegun tells that the answer begins.
func (w *watch) answerBegun() {
	if w.limit != nil {
		w.limit.Stop()
	}
}

// stopLooking leaves the client to the handler.
func (w *watch) stopLooking() {
	w.answerBegun()
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
}

// stop ends the context and the watch.
func (w *watch) stop() {
	w.stopLooking()
	w.release()
	w.cancel(context.Canceled)
}

// clientLeft ends the context of a client that does not take its answer.
func (x *Exchange) clientLeft() {
	if x.watch != nil {
		x.watch.cancel(ErrClientGone)
	}
}
