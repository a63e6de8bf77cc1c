package fluent

import (
	"errors"
	"fmt"

	"github.com/kasoku/kasoku/fluent/internal/encode"
)

// Errors that Post and its relatives return. They may come wrapped, with what
// they were about: compare with errors.Is.
var (
	// ErrClosed says that Shutdown or Close had begun before the call.
	ErrClosed = errors.New("fluent: logger is closed")

	// ErrFull says that the record was not accepted, since as many bytes or
	// records are pending as WithMemory or WithRecords allow and the policy of
	// WithOverflow had no room for it either.
	ErrFull = errors.New("fluent: buffer is full")

	// ErrNotRecord says that the value is no record: neither a map with string
	// keys, a struct, a pointer to one, nor a marshaler of a map.
	ErrNotRecord = encode.ErrNotRecord

	// ErrTooLarge says that one record alone is larger than WithMaxRecord.
	ErrTooLarge = errors.New("fluent: record is too large")

	// ErrTag says that the tag is empty.
	ErrTag = errors.New("fluent: empty tag")

	// ErrTime says that the time is outside what the protocol can hold: the
	// years 1970 to 2105, and the first 37 days of 2106.
	ErrTime = errors.New("fluent: time outside 1970 to 2106")
)

// UnsentError is what Flush, Shutdown and Close return when not everything
// that was accepted before reached a server or the error handler.
type UnsentError struct {
	Records int   // neither delivered nor taken by the error handler, Spooled included
	Spooled int   // how many of them are on disk, for the next Logger with the same directory
	Err     error // why: the context's error, or what stood in the way
}

// Error says how many records remain, where, and why.
func (e *UnsentError) Error() string {
	where := ""
	if e.Spooled > 0 {
		where = fmt.Sprintf(", %d of them on disk", e.Spooled)
	}
	return fmt.Sprintf("fluent: %d records not delivered%s: %v", e.Records, where, e.Err)
}

// Unwrap returns why the records remain.
func (e *UnsentError) Unwrap() error { return e.Err }
