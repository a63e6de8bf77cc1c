package listener

import (
	"net"
	"syscall"
	"testing"

	"github.com/kasoku/kasoku/internal/socket"
)

// TestSocketOptions checks the options that an accepted connection inherits from the listener.
func TestSocketOptions(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		nc, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		err = socket.Raw(nc).Control(func(fd uintptr) {
			for _, o := range [...]struct {
				name                string
				level, option, want int
			}{
				{"SO_KEEPALIVE", syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
				{"TCP_KEEPIDLE", syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
				{"TCP_KEEPINTVL", syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 15},
				{"TCP_KEEPCNT", syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 9},
				{"TCP_NODELAY", syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1},
			} {
				if got, err := syscall.GetsockoptInt(int(fd), o.level, o.option); err != nil || got != o.want {
					t.Errorf("%s: %s = %d, %v; want %d", address, o.name, got, err, o.want)
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
}
