//go:build !unix

package client

import (
	"net"
	"syscall"
)

// Without Unix sockets' calls, connections are read and written as streams.

func rawOf(net.Conn) syscall.RawConn    { return nil }
func readNow(int, []byte) (int, error)  { return 0, syscall.EINVAL }
func writeNow(int, []byte) (int, error) { return 0, syscall.EINVAL }
