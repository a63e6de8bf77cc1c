//go:build unix

package listener

import (
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// waitPending waits until a connection can be accepted from ln, for no longer than timeout,
// and reports whether one can. Accept itself can't be asked: it takes a descriptor before it
// waits, and fails at once if there is none.
func waitPending(ln net.Listener, timeout time.Duration) (pending bool, err error) {
	conn, ok := ln.(syscall.Conn)
	if !ok {
		return false, errors.ErrUnsupported
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	closed := raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, failed := unix.Poll(fds, int(timeout/time.Millisecond))
		if pending = n > 0; failed != nil && failed != unix.EINTR {
			err = failed
		}
	})
	if closed != nil {
		return false, closed
	}
	return pending, err
}
