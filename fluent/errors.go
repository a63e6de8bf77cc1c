package fluent

import (
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/fluent/internal/encode"
)

// The errors returned by Post and the related functions. They may be wrapped with details:
// compare them with errors.Is.
var (
	// ErrClosed means that Shutdown or Close had begun before the call.
	ErrClosed = errors.New("fluent: logger is closed")

	// ErrFull means that the record was not accepted because the limits of WithMemory or
	// WithRecords are reached and the policy of WithOverflow made no room.
	ErrFull = errors.New("fluent: buffer is full")

	// ErrNotRecord means that the value is not a record: a map with string keys, a struct, a
	// pointer to one, or a marshaler of a map.
	ErrNotRecord = encode.ErrNotRecord

	// ErrTooLarge means that the record is larger than WithMaxRecord.
	ErrTooLarge = errors.New("fluent: record is too large")

	// ErrTag means that the tag is empty.
	ErrTag = errors.New("fluent: empty tag")

	// ErrTime means that the time is outside the range of the protocol: the years 1970 to
	// 2105, and the first 37 days of 2106.
	ErrTime = errors.New("fluent: time outside 1970 to 2106")
)

// UnsentError is returned by Flush, Shutdown and Close if not every accepted record reached
// a server or the error handler.
type UnsentError struct {
	Records int   // not delivered and not taken by the error handler, including Spooled
	Spooled int   // how many of them are on disk, for the next Logger with the same directory
	Err     error // reason: the context's error, or the cause of the failure
}

// Error describes how many records remain, where, and why.
func (e *UnsentError) Error() string {
	where := ""
	if e.Spooled > 0 {
		where = fmt.Sprintf(", %d of them on disk", e.Spooled)
	}
	return fmt.Sprintf("fluent: %d records not delivered%s: %v", e.Records, where, e.Err)
}

// Unwrap returns the reason why the records remain.
func (e *UnsentError) Unwrap() error { return e.Err }
