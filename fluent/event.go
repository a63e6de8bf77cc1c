package fluent

import (
	"fmt"
	"time"
)

// Event is a report about a server or about records. Subscribe returns a channel of them.
type Event struct {
	Kind    EventKind
	Time    time.Time
	Server  string // as given to New; "" if the event is not about a server
	Records int    // number of records concerned; 0 if none
	Err     error  // reason; nil if nothing is wrong
}

// EventKind is the kind of an Event.
type EventKind int

const (
	// Fail: an attempt at a server failed with Err. Records in flight stay pending.
	Fail EventKind = iota + 1
	// Tripped: so many attempts in a row have failed that the server counts as down. Other
	// servers, if there are any, replace it.
	Tripped
	// Ready: a server that is down will be tried with the next batch.
	Ready
	// Reset: a server that was down is up again.
	Reset
	// Dropped: accepted records were dropped, for the reason in Err.
	Dropped
	// SpillFailed: the directory of WithSpill is full, can't be written or read, or has lost
	// records, as described by Err.
	SpillFailed
	// HandlerFailed: the error handler panicked. The records stay pending.
	HandlerFailed
)

var kindNames = [...]string{Fail: "fail", Tripped: "tripped", Ready: "ready", Reset: "reset",
	Dropped: "dropped", SpillFailed: "spill failed", HandlerFailed: "handler failed"}

// String returns the kind's name in lower case.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(kindNames) {
		return kindNames[k]
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
