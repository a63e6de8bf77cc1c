//go:build unix

package client

import (
	"net"
	"syscall"
)

// rawOf returns access to the socket of nc, or nil if it is none.
func rawOf(nc net.Conn) syscall.RawConn {
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
