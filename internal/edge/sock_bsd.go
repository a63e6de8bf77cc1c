//go:build unix && !linux

package edge

import "syscall"

// peerGone says whether the client has closed its end and all that it sent is
// read.
func peerGone(raw syscall.RawConn) bool {
	gone := false
	err := raw.Control(func(fd uintptr) { gone = peekEnd(int(fd)) })
	return gone || err != nil
}
