package fluent

import (
	"fmt"
	"sync"
	"time"
)

// State is what a Logger thinks of a server.
type State int

const (
	// Closed: the server is up, as far as is known. The name is a circuit
	// breaker's, through which what is sent can flow when it is closed.
	Closed State = iota
	// Open: the server failed and is left alone for a while.
	Open
	// HalfOpen: the wait is over. The next batch shows whether the server is
	// back, and others wait for the outcome.
	HalfOpen
)

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// breaker decides from the outcome of attempts when the next one may be made,
// and whether the server counts as up.
//
//	Closed   -- threshold failures in a row --> Open
//	Open     -- its wait is over, or a heartbeat --> HalfOpen, Closed
//	HalfOpen -- success --> Closed, failure --> Open
type breaker struct {
	threshold int
	backoff   backoff

	mu       sync.Mutex
	state    State
	failures int       // in a row
	until    time.Time // no attempt before
}

// failure counts a failed attempt, and tells whether the server counted as up
// until now and does so no more.
func (b *breaker) failure() (tripped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures++
	b.until = time.Now().Add(b.backoff.wait(b.failures))
	if b.failures < b.threshold && b.state == Closed {
		return false
	}
	tripped = b.state == Closed
	b.state = Open
	return tripped
}

// success ends the row of failures, and tells whether the server counts as up
// only from now on.
func (b *breaker) success() (reset bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reset = b.state != Closed
	b.state, b.failures, b.until = Closed, 0, time.Time{}
	return reset
}

// probe says that the wait of an open breaker is over.
func (b *breaker) probe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == Open {
		b.state = HalfOpen
	}
}

// wait is how long no attempt may be made.
func (b *breaker) wait() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, time.Until(b.until))
}

func (b *breaker) now() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}
