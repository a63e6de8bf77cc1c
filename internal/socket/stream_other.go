//go:build !unix

package socket

import (
	"io"
	"syscall"
)

// Stream does not exist on this system.
type Stream struct{ io.ReadWriter }

// NewStream returns nil.
func NewStream(syscall.RawConn) *Stream { return nil }
