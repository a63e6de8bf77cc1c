package origin

import (
	"errors"
	"fmt"
	"strconv"
)

// FaultKind is the reason why no complete answer arrived.
type FaultKind uint8

const (
	// Dial means that no connection was made: name, route, refusal or TLS.
	Dial FaultKind = iota
	// Timeout means that an attempt's time or the caller's deadline passed.
	Timeout
	// Reset means that the connection broke before the answer was complete.
	Reset
	// Garbage means that the answer is not valid HTTP or exceeds a limit.
	Garbage
	// BreakerOpen means that nothing was sent because of the circuit breaker: no other
	// origin was available, or no connection can be made at present.
	BreakerOpen
	// Overload means that the concurrency limit and its queue were full.
	Overload
	// Canceled means that the caller cancelled the request.
	Canceled
	// Unprepared means that Prepare failed, so that nothing was sent.
	Unprepared
	// Withheld means that the request's Guard forbade to send it, or reported right after
	// it was sent that it should not have been.
	Withheld

	kinds // number of kinds
)

var kindNames = [kinds]string{Dial: "dial", Timeout: "timeout", Reset: "reset", Garbage: "garbage",
	BreakerOpen: "breaker-open", Overload: "overload", Canceled: "canceled", Unprepared: "unprepared", Withheld: "withheld"}

func (k FaultKind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return "fault-" + strconv.Itoa(int(k))
}

// errWithheld is the cause of a fault of kind Withheld.
var errWithheld = errors.New("the request's guard does not allow it")

// Fault is the error of Do: there is no complete answer.
type Fault struct {
	// Origin is the name of the origin.
	Origin string
	Kind   FaultKind
	// Reached is true if the origin may have executed the request, on this or an earlier
	// attempt. A write must then be treated as one that happened.
	Reached bool
	// Aborted is true if the origin did not receive the complete request, was notified of
	// that (Outbound.AwaitAnswer), and closed the connection without an answer: it will do
	// nothing more with the part it received.
	Aborted bool
	// Hangup is true if the client's connection is to be closed without an answer, too. Only a
	// store in this process asks for that.
	Hangup bool
	// Attempts is the number of attempts made.
	Attempts int
	// BudgetSpent is true if the retry budget prevented a further attempt.
	BudgetSpent bool
	// Err is the cause, from the transport or from Prepare.
	Err error
}

// Error describes the origin, the kind, the number of attempts and whether the request may
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

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }
