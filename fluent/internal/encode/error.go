package encode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotRecord means that a value isn't a record. Errors that wrap it describe the value.
var ErrNotRecord = errors.New("fluent: a record must be a struct or a map with text keys")

// Error describes which part of a record can't be encoded, and why.
type Error struct {
	path  string // ".user.friends[3]", from the record inwards
	depth int    // number of steps in path
	err   error
	kind  bool // the type can't be encoded, not only this value
}

// maxPath is the maximum number of steps in a message: a cycle is obvious after a few.
const maxPath = 10

// Error returns, for example, "fluent: record.user.conn: can't encode chan int".
func (e *Error) Error() string {
	return "fluent: record" + e.path + ": " + e.err.Error()
}

// Unwrap returns the error of the value's own method, if that failed.
func (e *Error) Unwrap() error { return e.err }

func failf(format string, args ...any) error {
	return &Error{err: fmt.Errorf(format, args...)}
}

func errTooDeep() error {
	return failf("can't encode values nested more than %d deep", maxDepth)
}

func errType(name string) error {
	return &Error{err: fmt.Errorf("can't encode %s", name), kind: true}
}

// Within returns err as the error of a map or struct that has the value under key.
func Within(err error, key string) error { return step(err, "."+key) }

// at is Within for the value i of an array.
func at(err error, i int) error { return step(err, "["+strconv.Itoa(i)+"]") }

// step prepends a step to err's path. Steps are added from the inside out, so a path too
// long loses its last steps.
func step(err error, s string) error {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{err: err}
	}
	if e.depth++; e.depth > maxPath {
		e.path = strings.TrimSuffix(e.path, "...")
		e.path = e.path[:strings.LastIndexAny(e.path, ".[")] + "..."
	}
	e.path = s + e.path
	return e
}

// recordError returns the error of a value that should be a record: if its type can't be
// encoded, it can't be a record.
func recordError(v any, err error) error {
	if e, ok := err.(*Error); ok && e.kind && e.path == "" {
		return notRecord(v)
	}
	return err
}

func notRecord(v any) error {
	if v == nil {
		return fmt.Errorf("%w, not nil", ErrNotRecord)
	}
	return fmt.Errorf("%w, not %T", ErrNotRecord, v)
}
