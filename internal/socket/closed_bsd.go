//go:build unix && !linux

package socket

import "syscall"

// PeerClosed reports whether the peer has closed its end and all that it sent is read.
func PeerClosed(raw syscall.RawConn) bool {
	closed := false
	err := raw.Control(func(fd uintptr) { closed = endOfStream(int(fd)) })
	return closed || err != nil
}
