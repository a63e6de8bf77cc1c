//go:build unix

package forward

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// check examines the socket without waiting and without consuming data. It uses Control,
// because a Read of the same descriptor waits for the reader.
func check(c net.Conn) error {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var found error
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, found = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
	})
	switch {
	case err != nil:
		return err
	case errors.Is(found, syscall.EAGAIN), errors.Is(found, syscall.EINTR):
		return nil
	case found != nil:
		return &net.OpError{Op: "read", Net: c.RemoteAddr().Network(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvfrom", found)}
	case n == 0:
		return io.EOF
	}
	return nil
}
