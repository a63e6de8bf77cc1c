//go:build unix

package origin

import (
	"syscall"

	"github.com/kasoku/kasoku/internal/socket"
)

// newIdleCheck returns a function that reports whether a socket is open and has nothing to
// read, without reading. It may be used by one caller at a time.
func newIdleCheck(s syscall.RawConn) func() bool {
	idle := false
	var b [1]byte
	look := func(fd uintptr) bool {
		_, err := socket.Peek(int(fd), &b)
		idle = err == syscall.EAGAIN
		return true // don't wait
	}
	return func() bool { return s.Read(look) == nil && idle }
}
