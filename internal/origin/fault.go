package origin

import (
	"fmt"
	"strconv"
)

// FaultKind says what kept an answer from coming whole.
type FaultKind uint8

const (
	// Dial means that no connection came about: name, route, refusal or TLS.
	Dial FaultKind = iota
	// Timeout means that an attempt's time or the caller's deadline passed.
	Timeout
	// Reset means that the connection broke before the answer was whole.
	Reset
	// Garbage means that what came is not an HTTP answer, or is longer than allowed.
	Garbage
	// BreakerOpen means that nothing was sent because of the circuit breaker: another
	// origin was to be asked and none is there, or no connection can be made at present.
	BreakerOpen
	// Overload means that the concurrency limit and its queue were full.
	Overload
	// Canceled means that the caller went away.
	Canceled
	// Unprepared means that Prepare failed, so that nothing was sent.
	Unprepared

	kinds // their number
)

func (k FaultKind) String() string {
	switch k {
	case Dial:
		return "dial"
	case Timeout:
		return "timeout"
	case Reset:
		return "reset"
	case Garbage:
		return "garbage"
	case BreakerOpen:
		return "breaker-open"
	case Overload:
		return "overload"
	case Canceled:
		return "canceled"
	case Unprepared:
		return "unprepared"
	}
	return "fault-" + strconv.Itoa(int(k))
}

// Fault is the error of Do: no answer came whole.
type Fault struct {
	// Origin is the name of the origin.
	Origin string
	Kind   FaultKind
	// Reached is true when the origin may have executed the request, on this or on
	// an earlier attempt. A write is then to be treated as one that happened.
	Reached bool
	// Aborted is true when the origin has not got the request whole, was told so
	// (Outbound.Await), and has ended the connection upon it without an answer: what it
	// has done with what it got is over.
	Aborted bool
	// Attempts counts those that were begun.
	Attempts int
	// BudgetSpent is true when a further attempt would have been made, had the
	// retry budget allowed it.
	BudgetSpent bool
	// Err is the cause, from the transport or from Prepare.
	Err error
}

// Error says who failed, how, how often it was tried and whether the request may
// have been executed.
func (f *Fault) Error() string {
	reached := "not executed"
	if f.Reached {
		reached = "may have been executed"
	}
	budget := ""
	if f.BudgetSpent {
		budget = ", retry budget spent"
	}
	return fmt.Sprintf("origin %s: %s after %d attempts (%s%s): %v", f.Origin, f.Kind, f.Attempts, reached, budget, f.Err)
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Err }
