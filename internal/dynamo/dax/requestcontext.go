package dax

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// The causes of a request context's end, for context.Cause.
var (
	errClientGone = errors.New("dax: the client disconnected")
	errTooLate    = errors.New("dax: the deadline of the reply passed")
)

// maxPoll is the longest interval between checks of the client's connection.
const maxPoll = 250 * time.Millisecond

// requestContext is the context of a request. It does nothing until one of its methods is
// called; from then on it checks periodically whether the client is still connected.
type requestContext struct {
	conn     *conn
	deadline time.Time

	// mu serialises context and stop.
	mu      sync.Mutex
	inner   context.Context // nil until it is needed
	cancel  context.CancelCauseFunc
	release context.CancelFunc
	stopped bool
	peer    socket.Watch
}

var _ context.Context = (*requestContext)(nil)

// Deadline returns the deadline of the reply.
func (a *requestContext) Deadline() (time.Time, bool) { return a.deadline, true }

// Done returns the channel of the inner context, which is created on first use.
func (a *requestContext) Done() <-chan struct{} { return a.context().Done() }

// Err returns the reason for the end of the context.
func (a *requestContext) Err() error { return a.context().Err() }

// Value delegates to the inner context, so that derived contexts find it.
func (a *requestContext) Value(key any) any { return a.context().Value(key) }

func (a *requestContext) context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inner == nil {
		base, cancel := context.WithCancelCause(a.conn.srv.hard)
		a.cancel = cancel
		a.inner, a.release = context.WithDeadlineCause(base, a.deadline, errTooLate)
		if a.stopped {
			a.end()
		} else {
			a.peer.Start(a.conn.Raw, maxPoll, cancel, errClientGone)
		}
	}
	return a.inner
}

// stop ends the context after the request has been answered.
func (a *requestContext) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.peer.Stop()
	if a.inner != nil {
		a.end()
	}
}

func (a *requestContext) end() {
	a.release()
	a.cancel(context.Canceled)
}
