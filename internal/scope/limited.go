package scope

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Limited is a context that ends with another one or at a deadline. Its timer is started only when
// something waits for its end, so it costs little for work whose waits have limits of their own.
type Limited struct {
	parent context.Context
	until  time.Time // deadline of its own
	first  time.Time // of until and the parent's deadline
	cause  error

	// mu orders Cancel and the start of the timer. Leaf.
	mu       sync.Mutex
	canceled bool
	timed    atomic.Pointer[timed] // nil until it is needed
}

// timed is a context with a timer.
type timed struct {
	context.Context
	cancel context.CancelFunc
}

// WithDeadline returns a context that ends with parent or, with the given cause, at the deadline.
// It must be cancelled when it is no longer used.
func WithDeadline(parent context.Context, until time.Time, cause error) *Limited {
	l := &Limited{parent: parent, until: until, first: until, cause: cause}
	if earlier, ok := parent.Deadline(); ok && earlier.Before(until) {
		l.first = earlier
	}
	return l
}

// Cancel ends the context.
func (l *Limited) Cancel() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.canceled = true
	if t := l.timed.Load(); t != nil {
		t.cancel()
	}
}

// start returns the context with the timer.
func (l *Limited) start() *timed {
	if t := l.timed.Load(); t != nil {
		return t
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.timed.Load(); t != nil {
		return t
	}
	t := &timed{}
	t.Context, t.cancel = context.WithDeadlineCause(l.parent, l.until, l.cause)
	if l.canceled {
		t.cancel()
	}
	l.timed.Store(t)
	return t
}

// Deadline implements context.Context.
func (l *Limited) Deadline() (time.Time, bool) { return l.first, true }

// Done implements context.Context. It starts the timer.
func (l *Limited) Done() <-chan struct{} { return l.start().Done() }

// Value implements context.Context.
func (l *Limited) Value(key any) any { return l.start().Value(key) }

// Err implements context.Context.
func (l *Limited) Err() error {
	if l.timed.Load() == nil && l.parent.Err() == nil && time.Now().Before(l.first) && !l.isCanceled() {
		return nil
	}
	return l.start().Err()
}

func (l *Limited) isCanceled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.canceled
}

// WithoutDeadline returns the context that a Limited was made from, for work that ends at the
// deadline by itself. It returns any other context unchanged.
func WithoutDeadline(ctx context.Context) context.Context {
	if l, ok := ctx.(*Limited); ok {
		return l.parent
	}
	return ctx
}
