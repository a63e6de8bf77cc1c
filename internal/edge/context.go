package edge

import (
	"context"
	"errors"
	"sync"
	"time"
)

// What ends the context of an exchange, found with context.Cause.
var (
	ErrClientGone     = errors.New("edge: the client went away")
	ErrRequestTimeout = errors.New("edge: the request timeout passed")
)

// Context is made at the first call and is cancelled when the client goes away,
// the request timeout passes, the server is stopped hard, or Serve has
// returned. It costs a timer and some memory, so that an answer from the cache
// should do without. Call it from the goroutine that Serve runs in.
func (x *Exchange) Context() context.Context {
	if x.watch == nil {
		x.watch = newWatch(x)
	}
	return x.watch.ctx
}

// Deadline is when the time for the request as a whole is over. For work that
// goes on when the client leaves, and so can't use Context.
func (x *Exchange) Deadline() time.Time {
	if x.set == nil { // detached
		until, ok := x.watch.ctx.Deadline()
		if !ok {
			until = x.start.Add(defaultRequestTimeout)
		}
		return until
	}
	return x.start.Add(x.set.limits.RequestTimeout)
}

// How often a client is looked after while its request is under way: soon at
// first, then ever more rarely. A client that leaves right after its request
// costs the origin little.
const (
	watchFirst = 25 * time.Millisecond
	watchLast  = 250 * time.Millisecond
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
	release context.CancelFunc
}

func newWatch(x *Exchange) *watch {
	base := x.base
	if base == nil {
		base = x.srv.hard
	}
	w := &watch{conn: x.conn, pause: watchFirst}
	base, w.cancel = context.WithCancelCause(base)
	w.ctx, w.release = context.WithDeadlineCause(base, x.Deadline(), ErrRequestTimeout)
	if w.conn != nil && w.conn.raw != nil {
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
	if peerGone(w.conn.raw) {
		w.cancel(ErrClientGone)
		return
	}
	w.pause = min(2*w.pause, watchLast)
	w.timer.Reset(w.pause)
}

// stop ends the context and the watch.
func (w *watch) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.release()
	w.cancel(context.Canceled)
}
