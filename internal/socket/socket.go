// Package socket reads and writes connected sockets with single system calls that never
// block, and looks at their state without reading. A Stream waits in between.
//
// On Linux these calls bypass the Go runtime: see decision 0011, and Sysmon for the part
// that a server has in it.
package socket

import (
	"errors"
	"time"
)

// Past is a deadline that has passed: setting it wakes the goroutine that waits for a socket.
var Past = time.Unix(1, 0)

// Errors of Stream.Ask.
var (
	ErrNotIdle  = errors.New("socket: bytes or the end of the stream have arrived before the request")
	ErrUnwanted = errors.New("socket: the answer is not wanted")
)
