package spool

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned by all methods after Close.
	ErrClosed = errors.New("spool: closed")
	// ErrFull is returned by Append if the payload would exceed Options.MaxBytes. Space is
	// freed as payloads are done.
	ErrFull = errors.New("spool: full")
	// ErrTooLarge is returned by Append for a payload that exceeds an empty spool.
	ErrTooLarge = errors.New("spool: payload too large")
	// ErrEmpty is returned by Next when every payload was taken.
	ErrEmpty = errors.New("spool: empty")
	// ErrLocked is returned by Open if another Spool uses the directory.
	ErrLocked = errors.New("spool: directory is in use by another process")
)

// FormatError means that a file was written by a newer version of this package.
type FormatError struct {
	Path  string
	Found uint32 // the file's version
	Known uint32 // the newest supported version
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("spool: %s has format version %d, and this program reads versions up to %d: "+
		"use the program that wrote it, or move the file away", e.Path, e.Found, e.Known)
}

// LossError describes the loss in a segment. Payloads and Records are known as far as
// headers show; bytes are always known.
type LossError struct {
	Path     string
	Payloads int
	Records  int
	Bytes    int64
	Err      error // the read error; nil if the contents were damaged
}

func (e *LossError) Error() string {
	why := "damaged"
	if e.Err != nil {
		why = e.Err.Error()
	}
	return fmt.Sprintf("spool: %s: %s: lost %d payloads with %d records, %d bytes",
		e.Path, why, e.Payloads, e.Records, e.Bytes)
}

func (e *LossError) Unwrap() error { return e.Err }
