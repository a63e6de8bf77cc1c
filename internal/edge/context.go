package edge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// The causes that end the context of an exchange, see context.Cause.
var (
	ErrClientGone     = errors.New("edge: the client went away")
	ErrRequestTimeout = errors.New("edge: the request timeout passed")
)

// Context returns the context of the exchange. It is made at the first call, and cancelled
// when the client disconnects, the request timeout passes, the server is stopped hard, or
// Serve has returned. It costs a timer and some memory, so an answer from the cache should
// avoid it. Call it from the goroutine that Serve runs in. On a streaming server the request
// timeout is over when the answer begins; the client is watched until Serve returns.
func (x *Exchange) Context() context.Context {
	if x.watch == nil {
		x.watch = newWatch(x)
	}
	return x.watch.ctx
}

// Lasting returns a context for work that continues when the client disconnects or the
// request timeout passes: it ends when the server is stopped hard. Serve does not return
// before that work is done, so that a server that stops waits for it.
func (x *Exchange) Lasting() context.Context {
	if x.srv == nil { // detached
		return x.watch.ctx
	}
	return x.srv.hard
}

// Stopping returns a channel that is closed when the server begins to stop. Answers that
// have no end of their own, and upgraded connections, should then end; otherwise they are
// cut when the grace period is over.
func (x *Exchange) Stopping() <-chan struct{} {
	if x.srv == nil {
		return nil
	}
	return x.srv.conns.Stopped()
}

// Deadline returns the time by which the whole request must be answered, for work that
// continues when the client disconnects and so can't use Context. It is zero on a streaming
// server without request timeout.
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

// The intervals at which the client is checked while its request is served: short at first,
// then longer. A client that disconnects right after its request costs the origin little.
const (
	watchFirst  = 25 * time.Millisecond
	watchLast   = 250 * time.Millisecond
	watchStream = time.Second // of a streaming server: thousands of requests may wait for long
)

// watch checks from time to time whether a client is still connected. It requests the state
// of the connection from the kernel and reads nothing, so that no byte of a pipelined
// request is lost.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	conn   *conn

	// mu orders look and stop: after stop has returned, no look runs or starts.
	mu      sync.Mutex
	stopped bool
	timer   *time.Timer
	pause   time.Duration
	longest time.Duration // the maximum of pause
	limit   *time.Timer   // ends the time until the answer begins; nil where ctx has a deadline
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

// answerBegun stops the request timeout.
func (w *watch) answerBegun() {
	if w.limit != nil {
		w.limit.Stop()
	}
}

// stopLooking stops the watch: from now on the handler notices when the client disconnects.
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

// clientLeft ends the context of a client that does not read its answer.
func (x *Exchange) clientLeft() {
	if x.watch != nil {
		x.watch.cancel(ErrClientGone)
	}
}
