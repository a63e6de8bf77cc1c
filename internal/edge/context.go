package edge

import (
	"context"
	"errors"
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

// The longest intervals at which the client is checked while its request is served.
const (
	watchLast   = 250 * time.Millisecond
	watchStream = time.Second // of a streaming server: thousands of requests may wait for long
)

// watch ends the context of an exchange.
type watch struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	release context.CancelFunc
	peer    socket.Watch
	limit   *time.Timer // ends the time until the answer begins; nil where ctx has a deadline
}

func newWatch(x *Exchange) *watch {
	base := x.srv.hard
	if x.scoped {
		base = x.conn.lasting.client
	}
	w, longest := &watch{}, watchLast
	base, w.cancel = context.WithCancelCause(base)
	if x.srv.cfg.Streaming {
		longest = watchStream
		w.ctx, w.release = base, func() {}
		if until := x.Deadline(); !until.IsZero() && !x.answer.begun {
			w.limit = time.AfterFunc(time.Until(until), func() { w.cancel(ErrRequestTimeout) })
		}
	} else {
		w.ctx, w.release = context.WithDeadlineCause(base, x.Deadline(), ErrRequestTimeout)
	}
	if x.h2 != nil {
		x.h2.watchCancel(w.cancel)
		x.h2.h.yield(x.h2.turn)
	}
	if x.conn != nil {
		w.peer.Start(x.conn.Raw, longest, w.cancel, ErrClientGone)
	}
	return w
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
	w.peer.Stop()
}

// stop ends the context and the watch.
func (w *watch) stop() {
	w.stopLooking()
	w.release()
	w.cancel(context.Canceled)
}

// clientLeft ends the context of a client that does not read its answer.
func (x *Exchange) clientLeft() {
	switch {
	case x.watch != nil:
		x.watch.cancel(ErrClientGone)
	case x.scoped:
		x.conn.lasting.client.Cancel(ErrClientGone)
	}
}
