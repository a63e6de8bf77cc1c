package fluent

import (
	"fmt"
	"sync"
	"time"
)

// State is the state of a server's circuit breaker.
type State int

const (
	// Closed means that the server is assumed to be up. As in an electric circuit, a closed
	// breaker lets records flow.
	Closed State = iota
	// Open means that the server has failed and is not tried for a while.
	Open
	// HalfOpen means that the wait is over. The next batch is a probe, and all others wait
	// for its outcome.
	HalfOpen
)

var stateNames = [...]string{Closed: "closed", Open: "open", HalfOpen: "half-open"}

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	if s >= 0 && int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", int(s))
}

// breaker decides from the outcome of attempts when the next one may be made, and whether
// the server counts as up.
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
	until    time.Time // no attempt before this time
}

// failure counts a failed attempt and reports whether the server changes from up to down.
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

// success resets the count of failures and reports whether the server changes from down to
// up.
func (b *breaker) success() (reset bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reset = b.state != Closed
	b.state, b.failures, b.until = Closed, 0, time.Time{}
	return reset
}

// probe half-opens an open breaker.
func (b *breaker) probe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == Open {
		b.state = HalfOpen
	}
}

// wait returns the time until the next attempt is allowed.
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
