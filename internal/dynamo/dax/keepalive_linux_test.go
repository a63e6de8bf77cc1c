package dax

import (
	"net"
	"strings"
	"syscall"
	"testing"
)

// TestKeepAlive checks that connections have keep-alive enabled.
func TestKeepAlive(t *testing.T) {
	s, err := Listen(Config{Name: "orders", Listen: "127.0.0.1:0", Open: true})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve() }()
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	until(func() bool { return s.Open() == 1 })
	for _, c := range s.conns.Conns() {
		on := 0
		if err := c.Raw.Control(func(fd uintptr) { on, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) }); err != nil || on == 0 {
			t.Errorf("SO_KEEPALIVE is %d, %v", on, err)
		}
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := Listen(Config{Name: "orders", Listen: "nowhere:0x"}); err == nil || !strings.Contains(err.Error(), "service orders can't listen") {
		t.Error(err)
	}
}
