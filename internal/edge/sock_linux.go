package edge

import "syscall"

// tcpEstablished is the first byte of TCP_INFO for a connection with both ends
// open.
const tcpEstablished = 1

// peerGone says whether the client has closed its end, even if bytes from it
// are still unread. A client that closes only its sending half counts as gone,
// as it does with other servers.
func peerGone(raw syscall.RawConn) bool {
	gone := false
	err := raw.Control(func(fd uintptr) {
		info, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO)
		if err != nil { // a Unix socket
			gone = peekEnd(int(fd))
			return
		}
		// The state is the first byte in memory, wherever an int has it.
		gone = info&0xff != tcpEstablished && uint32(info)>>24 != tcpEstablished
	})
	return gone || err != nil
}
