package socket

import "syscall"

// tcpEstablished is the first byte of TCP_INFO for a connection with both ends open.
const tcpEstablished = 1

// PeerClosed reports whether the peer has closed its end, even if bytes from it are still
// unread. Closing only the sending half counts, as it does with other servers.
func PeerClosed(raw syscall.RawConn) bool {
	closed := false
	err := raw.Control(func(fd uintptr) {
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err != nil { // a Unix socket
			closed = endOfStream(int(fd))
			return
		}
		// The state is the first byte in memory, for either byte order.
		closed = info&0xff != tcpEstablished && uint32(info)>>24 != tcpEstablished
	})
	return closed || err != nil
}
