//go:build !unix

package edge

import (
	"net"
	"syscall"
)

// Without Unix sockets' calls, connections are served as streams, and a client
// that goes away is noticed when the answer is written.

func rawOf(net.Conn) syscall.RawConn    { return nil }
func readNow(int, []byte) (int, error)  { return 0, syscall.EINVAL }
func writeNow(int, []byte) (int, error) { return 0, syscall.EINVAL }
func attend()                           {}
func peerGone(syscall.RawConn) bool     { return false }
