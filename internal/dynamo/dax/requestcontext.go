package dax

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// What ends the context of a request, found with context.Cause.
var (
	errClientGone = errors.New("dax: the client went away")
	errTooLate    = errors.New("dax: the time for the answer passed")
)

// How often a client is looked after while its request is under way: soon at first, then
// ever more rarely.
const (
	minPoll = 25 * time.Millisecond
	maxPoll = 250 * time.Millisecond
)

// requestContext is the context of a request. Nothing is watched before somebody asks for its
// end; from then on it is looked from time to time whether the client is still there. The
// kernel is asked for the state of the connection and nothing is read, so that no byte of
// the next request can get lost.
type requestContext struct {
	conn     *conn
	deadline time.Time

	// mu orders making, look and stop: after stop no look runs or will.
	mu      sync.Mutex
	inner   context.Context // nil until somebody asks
	cancel  context.CancelCauseFunc
	release context.CancelFunc
	stopped bool
	timer   *time.Timer
	pause   time.Duration
}

var _ context.Context = (*requestContext)(nil)

// Deadline is when the time for the answer is over.
func (a *requestContext) Deadline() (time.Time, bool) { return a.deadline, true }

// Done, Err and Value are those of a context that is made when one of them is called.
func (a *requestContext) Done() <-chan struct{} { return a.context().Done() }

// Err says why the context has ended.
func (a *requestContext) Err() error { return a.context().Err() }

// Value lets contexts that are made of this one find the one inside.
func (a *requestContext) Value(key any) any { return a.context().Value(key) }

func (a *requestContext) context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inner == nil {
		base, cancel := context.WithCancelCause(a.conn.srv.hard)
		a.cancel = cancel
		a.inner, a.release = context.WithDeadlineCause(base, a.deadline, errTooLate)
		switch {
		case a.stopped:
			a.end()
		case a.conn.raw != nil:
			a.pause = minPoll
			a.timer = time.AfterFunc(a.pause, a.poll)
		}
	}
	return a.inner
}

func (a *requestContext) poll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	if socket.PeerClosed(a.conn.raw) {
		a.cancel(errClientGone)
		return
	}
	a.pause = min(2*a.pause, maxPoll)
	a.timer.Reset(a.pause)
}

// stop ends the context: the request is answered.
func (a *requestContext) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.inner != nil {
		a.end()
	}
}

func (a *requestContext) end() {
	a.release()
	a.cancel(context.Canceled)
}
