//go:build unix

package socket

import (
	"net"
	"syscall"
)

// Raw returns access to the socket of nc, or nil if nc has none: Read, Write and PeerClosed
// can't be used then.
func Raw(nc net.Conn) syscall.RawConn {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// endOfStream reports whether the stream has ended and nothing is left to read.
func endOfStream(fd int) bool {
	var b [1]byte
	n, err := Peek(fd, &b)
	return n == 0 && err == nil || err != nil && err != syscall.EAGAIN
}
