package dax

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/certs"
)

// TestDrain drains a node that isn't the only one.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) {
			c.Members = func() []Member {
				return []Member{{ID: 1, Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:8111")}, Self: true},
					{ID: 2, Addresses: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.2:8111")}}}
			}
		})
		c := r.hello("Python")
		if list := c.list(); strings.Count(list, "\n") != 2 {
			t.Errorf("got the list %v", list)
		}
		if !r.srv.Drain() {
			t.Error("Drain reports that there is no other node")
		}
		const other = "2 192.0.2.2 192.0.2.2 8111 1 kasoku 0 \n"
		if list := c.list(); list != other {
			t.Errorf("got the list %v", list)
		}
		time.Sleep(DrainTime)
		c.expect(askEcho+"4101", "804101") // still served
		if list := r.hello("Python").list(); list != other {
			t.Errorf("got the list %v", list)
		}
		if err := r.srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		c.expectEnd()
	})
}

// TestStopOnlyNode stops the only node. It remains in the list to the end, and its connections
// end one after the other, each after a reply.
func TestStopOnlyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Advertise = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:8111")} })
		const pooled = 10
		var pool []*client
		for range pooled {
			pool = append(pool, r.hello("Go v1"))
		}
		idle, fresh := r.hello("Go v1"), r.dial()
		if r.srv.Drain() {
			t.Error("Drain reports that there is another node")
		}
		synctest.Wait()
		begun := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- r.srv.Shutdown(context.Background()) }()
		synctest.Wait()
		if list := pool[0].list(); strings.Count(list, "\n") != 1 {
			t.Errorf("the list is %q", list)
		}
		pool[0].expectEnd()
		for range 3 {
			pool[1].expect(askEcho+"4101", "804101") // still open: a second connection must not end this soon
		}
		fresh.send(preambles["Go v1"])
		for i := range pooled - 1 {
			time.Sleep(spreadTime / pooled)
			pool[i+1].expect(askEcho+"4101", "804101")
			pool[i+1].expectEnd()
		}
		if list := fresh.list(); strings.Count(list, "\n") != 1 {
			t.Errorf("the list is %q", list)
		}
		idle.expectEnd()
		if err := <-stopped; err != nil || time.Since(begun) < spreadTime || time.Since(begun) > spreadTime+time.Second {
			t.Errorf("Shutdown returned %v after %v", err, time.Since(begun))
		}
	})
}

// TestStopAnswersLateRequest checks that a request is answered that arrives while idle
// connections are being closed.
func TestStopAnswersLateRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.hello("Go v1")
		c.expect(askEcho+"4101", "804101")
		synctest.Wait()
		r.srv.conns.Conns()[0].Kick(finalWait)
		c.expect(askEcho+"4102", "804102")
		synctest.Wait()
		r.srv.conns.Conns()[0].Kick(finalWait)
		c.expectEnd()
	})
}

// sendHalf sends half of a request and waits until the server has begun to read it. It returns
// the other half.
func (r *rig) sendHalf(c *client) (rest string) {
	c.send(askEcho + "592710" + strings.Repeat("00", 9000)) // of 10000 bytes, for which it needs a larger buffer
	for r.srv.room.used.Load() == 0 {
		runtime.Gosched()
	}
	return strings.Repeat("00", 1000)
}

// TestShutdown stops a server with requests in flight, one of them half received: all are
// answered.
func TestShutdown(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		idle, busy, half := r.hello("Go v1"), r.hello("Go v1"), r.hello("Go v1")
		idle.expect(askEcho+"4101", "804101")
		busy.send(askRelease)
		<-r.slow.begun
		rest := r.sendHalf(half)
		stopped := make(chan error, 1)
		go func() { stopped <- r.srv.Shutdown(context.Background()) }()
		idle.expectEnd()
		close(r.slow.release)
		if got := busy.reply(2); got != "80f5" {
			t.Errorf("got %v", got)
		}
		busy.expectEnd()
		half.expect(rest, "80592710"+strings.Repeat("00", 10000))
		half.expectEnd()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if n := r.srv.Open(); n != 0 {
			t.Errorf("%d connections are still open", n)
		}
	})
}

// TestShutdownHard checks that a cancelled Shutdown doesn't wait for a request.
func TestShutdownHard(t *testing.T) {
	loopback(t, nil, func(t *testing.T, r *rig) {
		busy, half := r.hello("Go v1"), r.hello("Go v1")
		busy.send(askWait)
		<-r.slow.begun
		r.sendHalf(half)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := r.srv.Shutdown(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 connections in use") {
			t.Error(err)
		}
		if err := <-r.slow.ended; err != context.Canceled {
			t.Error(err)
		}
		half.expectEnd()
	})
}

// TestShutdownResets checks that each client's connections end in the way it handles best.
func TestShutdownResets(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Listen = "127.0.0.1:0" })
	all := map[string]*client{}
	for name := range preambles {
		all[name] = r.hello(name)
		all[name].expect(askEcho+"4101", "804101")
	}
	busy := r.hello("Go v2")
	busy.send(askRelease)
	<-r.slow.begun
	stopped := make(chan error, 1)
	go func() { stopped <- r.srv.Shutdown(context.Background()) }()
	for name, c := range all {
		want := io.EOF
		if name == "Go v2" {
			want = syscall.ECONNRESET
		}
		var one [1]byte
		if _, err := c.nc.Read(one[:]); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	close(r.slow.release)
	if got := busy.reply(2); got != "80f5" {
		t.Errorf("got %v", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	var one [1]byte
	if _, err := busy.nc.Read(one[:]); !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	certPEM, keyPEM := certs.SelfSigned(t, 1)
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	r := newRig(t, func(c *Config) {
		c.Listen, c.TLS = "127.0.0.1:0", &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }}
	})
	// Without a server name, as some clients connect, and with one.
	for _, name := range []string{"127.0.0.1", "localhost"} {
		nc, err := tls.Dial("tcp", r.srv.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name})
		if err != nil {
			t.Fatal(err)
		}
		c := &client{t, nc}
		for _, b := range unhex(t, preambles["JavaScript v3"]+askEcho+"43010203") {
			_, _ = nc.Write([]byte{b})
		}
		if got := c.reply(2); got != "8043010203" {
			t.Errorf("got %v", got)
		}
		c.expect(askEcho+"4104", "804104")
		go c.send(askEcho + "59c000" + strings.Repeat("00", 0xc000))
		if n := c.largeReply(0xc000); n != 0xc000 {
			t.Errorf("%d handshakes were counted as failed", n)
		}
		c.send(askWait)
		<-r.slow.begun
		_ = nc.Close()
		if err := <-r.slow.ended; err != errClientGone {
			t.Error(err)
		}
	}
	if log := r.log.wait(8); !log[0].TLS {
		t.Errorf("got the record %+v", log[0])
	}
	plain := r.hello("Go v1")
	_, _ = bufio.NewReader(plain.nc).ReadString(0)
	until(func() bool { return r.srv.metrics.handshakes.Value() == 1 })
	idle, err := tls.Dial("tcp", r.srv.Addr().String(), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t, idle}
	c.send(preambles["Go v1"])
	c.expect(askEcho+"4104", "804104")
	if err := r.srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	c.expectEnd()
}
