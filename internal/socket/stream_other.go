//go:build !unix

package socket

import (
	"io"
	"syscall"
)

// Stream does not exist on this system.
type Stream struct{ io.ReadWriter }

// Ask is not available.
func (*Stream) Ask([]byte, []byte, bool, func() bool) (int, int, error) {
	return 0, 0, syscall.EINVAL
}

// NewStream returns nil.
func NewStream(syscall.RawConn) *Stream { return nil }
