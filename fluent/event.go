package fluent

import (
	"fmt"
	"time"
)

// Event tells what happened to a server or to records. Subscribe gives them.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Server  string // as given to New; "" where it is about none
	Records int    // how many it is about; 0 where it is about none
	Err     error  // why; nil where nothing is wrong
}

// EventKind says what an Event is about.
type EventKind int

const (
	// Fail: an attempt at a server failed with Err. Records that were on their way stay
	// pending.
	Fail EventKind = iota + 1
	// Tripped: so many attempts in a row have failed that the server counts
	// as down. Other servers, if there are, take its place.
	Tripped
	// Ready: a server that is down will be tried with the next batch.
	Ready
	// Reset: a server that was down is up again.
	Reset
	// Dropped: accepted records were given up, for the reason in Err.
	Dropped
	// SpillFailed: the directory of WithSpill is full, can't be written or
	// read, or has lost records, as Err says.
	SpillFailed
	// HandlerFailed: the error handler panicked. The records stay pending.
	HandlerFailed
)

// String returns the kind's name in lower case.
func (k EventKind) String() string {
	switch k {
	case Fail:
		return "fail"
	case Tripped:
		return "tripped"
	case Ready:
		return "ready"
	case Reset:
		return "reset"
	case Dropped:
		return "dropped"
	case SpillFailed:
		return "spill failed"
	case HandlerFailed:
		return "handler failed"
	}
	return fmt.Sprintf("EventKind(%d)", int(k))
}

// String returns the event as a line of text.
func (e Event) String() string {
	s := e.Kind.String()
	if e.Server != "" {
		s = e.Server + ": " + s
	}
	if e.Records > 0 {
		s += fmt.Sprintf(" (%d records)", e.Records)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}
