package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// TestHandshakeAcknowledges checks that acknowledgements are not delayed after a handshake.
func TestHandshakeAcknowledges(t *testing.T) {
	cert, key := certs.SelfSigned(t, 1)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(ln, Config{})
	defer s.Stop()
	dialed, checked := make(chan error, 1), make(chan bool)
	defer close(checked)
	go func() {
		nc, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		dialed <- err
		if err == nil {
			<-checked // the end of the stream resets the option
			_ = nc.Close()
		}
	}()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := &Conn{}
	c.Init(s, nil, nc)
	if _, err := c.Handshake(&tls.Config{Certificates: []tls.Certificate{pair}}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := <-dialed; err != nil {
		t.Fatal(err)
	}
	err = socket.Raw(nc).Control(func(fd uintptr) {
		if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK); err != nil || got != 1 {
			t.Errorf("TCP_QUICKACK is %d, %v; want 1", got, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHandshakeOfStoppedServer checks that no handshake begins after Finish has cut the
// connections, whose deadlines a handshake replaces.
func TestHandshakeOfStoppedServer(t *testing.T) {
	ln, err := Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(ln, Config{})
	defer s.Stop()
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
	c := &Conn{}
	c.Init(s, nil, nc)
	s.hardStop()
	c.cut()
	if _, err := c.Handshake(&tls.Config{}, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
