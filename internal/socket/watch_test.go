//go:build unix

package socket

import (
	"net"
	"testing"
	"time"
)

// TestWatch checks that cancel is called when the peer has closed its end, and not before.
func TestWatch(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	raw := Raw(nc)
	var w, stopped Watch
	closing, gone := false, make(chan bool, 1)
	stopped.Start(raw, time.Second, func(error) { t.Error("called after Stop") }, nil)
	stopped.Stop()
	stopped.Stop()
	w.Start(raw, firstCheck, func(error) { gone <- closing }, nil)
	w.mu.Lock() // orders closing before the checks that follow
	closing = true
	w.mu.Unlock()
	_ = peer.Close()
	if !<-gone {
		t.Error("cancel was called before the peer closed")
	}
	w.Stop()
}
