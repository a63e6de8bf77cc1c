package socket

import "syscall"

// Acknowledge sends the pending acknowledgement of a TCP connection, and acknowledges the
// next bytes without delay, until more is written. The kernel otherwise delays it by 40 ms,
// for an answer to carry it. A client with Nagle's algorithm sends nothing meanwhile.
func Acknowledge(raw syscall.RawConn) {
	_ = raw.Control(acknowledge)
}

// acknowledge fails for a Unix socket, which has no acknowledgements.
func acknowledge(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 1)
}
