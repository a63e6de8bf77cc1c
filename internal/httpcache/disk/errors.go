package disk

import "errors"

// The errors of a tier, in addition to file system errors.
var (
	// ErrLocked means that another process, or another tier of this one, uses the directory.
	ErrLocked = errors.New("disk: the directory is in use by another process")
	// ErrFull means that there is no room within the bound.
	ErrFull = errors.New("disk: no room within the bound")
	// ErrPaused means that nothing is written for a while because the file system has
	// failed.
	ErrPaused = errors.New("disk: nothing is written for a while, after an error")
	// ErrGone means that a body was dropped.
	ErrGone = errors.New("disk: the body was dropped")
	// ErrDamaged means that a body's bytes differ from the written ones.
	ErrDamaged = errors.New("disk: the body is damaged")

	errEmpty = errors.New("disk: a body without bytes")
	errHead  = errors.New("disk: not a head, or a damaged one")
)
