package nats

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// TestDropped sends more frames than a subscription keeps.
func TestDropped(t *testing.T) {
	a, b, _ := three(t)
	called, block := make(chan struct{}, 100), make(chan struct{})
	defer close(block)
	err := b.Listen(b.instance, func([]byte) { called <- struct{}{}; <-block }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.own.SetPendingLimits(2, 1<<20); err != nil {
		t.Fatal(err)
	}
	deliver(t, func() error { return a.Send(b.instance, []byte("frame")) }, func() bool {
		s := b.Stats()
		return s.Dropped > 0 && s.SlowConsumers > 0
	})
	<-called
	dropped := b.Stats().Dropped
	b.listen(t, 0xbb)
	if got := b.Stats().Dropped; got < dropped {
		t.Errorf("%d dropped, %d before the instance changed", got, dropped)
	}
}

// TestHungPeer stops the traffic of a route without closing it, like a node that hangs or is
// cut off. Its peer gives the route up.
func TestHungPeer(t *testing.T) {
	a := start(t, "a", 0xa, nil)
	p := startProxy(t, "127.0.0.1:0", a.Addr().String())
	b := start(t, "b", 0xb, func(c *Config) { c.Join = []string{p.address} })
	reaches(t, a, b)
	close(p.hang)
	await.Until(t, func() bool { return a.Stats().Peers == 0 && b.Stats().Peers == 0 })
}

// TestStalledPeer sends to a node that hangs until the system accepts no more bytes for it.
// Writes end soon, so that messages to other nodes are not late.
func TestStalledPeer(t *testing.T) {
	a := start(t, "a", 0xa, nil)
	p := startProxy(t, "127.0.0.1:0", a.Addr().String())
	b := start(t, "b", 0xb, func(c *Config) { c.Join = []string{p.address} })
	reaches(t, a, b)
	close(p.hang)
	frame := make([]byte, 1<<20)
	deliver(t, func() error { return b.Send(0xa, frame) }, func() bool { return b.Stats().Peers == 0 })
	if s := b.Stats(); s.SlowConsumers == 0 {
		t.Errorf("the route ended, and not by the limit on writes: %+v", s)
	}
}

// proxy passes bytes on until hang is closed.
type proxy struct {
	address, to string
	hang        chan struct{}
	wg          sync.WaitGroup
}

// startProxy starts a proxy for one node.
func startProxy(t *testing.T, listen, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), to: to, hang: make(chan struct{})}
	end := make(chan struct{})
	t.Cleanup(func() {
		close(end)
		_ = l.Close()
		p.wg.Wait()
	})
	p.wg.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", p.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			p.wg.Go(func() {
				<-end
				_, _ = from.Close(), to.Close()
			})
			for _, c := range [][2]net.Conn{{from, to}, {to, from}} {
				p.wg.Go(func() {
					defer func() { _, _ = from.Close(), to.Close() }()
					_, _ = io.Copy(gate{c[0], p.hang, end}, c[1])
				})
			}
		}
	})
	return p
}

// gate blocks writes from when hang is closed until end is.
type gate struct {
	io.Writer
	hang, end chan struct{}
}

func (g gate) Write(b []byte) (int, error) {
	select {
	case <-g.hang:
		<-g.end
	default:
	}
	return g.Writer.Write(b)
}
