//go:build !unix

package socket

import (
	"net"
	"syscall"
)

// Raw returns nil: without the system calls of Unix, connections are read and written as
// streams, and a client that has closed its end is noticed when the answer is written.
func Raw(net.Conn) syscall.RawConn { return nil }

// Read is not available.
func Read(int, []byte) (int, error) { return 0, syscall.EINVAL }

// Write is not available.
func Write(int, []byte) (int, error) { return 0, syscall.EINVAL }

// PeerClosed returns false.
func PeerClosed(syscall.RawConn) bool { return false }

func wakeSysmon() {}
