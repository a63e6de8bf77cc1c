package nats

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// resetter passes connections on until they are reset.
type resetter struct {
	net.Listener
	to string

	mu    sync.Mutex
	conns []*net.TCPConn
}

// startResetter starts a resetter before a node.
func startResetter(t *testing.T, to *node) *resetter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &resetter{Listener: l, to: to.Addr().String()}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", r.to)
			if err != nil {
				_ = from.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, from.(*net.TCPConn), to.(*net.TCPConn))
			r.mu.Unlock()
			for _, c := range [][2]net.Conn{{from, to}, {to, from}} {
				done.Go(func() {
					defer func() { _, _ = from.Close(), to.Close() }()
					_, _ = io.Copy(c[0], c[1])
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.reset()
		done.Wait()
	})
	return r
}

// open returns the number of connections since the last reset, which may have ended.
func (r *resetter) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns) / 2
}

// reset resets all connections.
func (r *resetter) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	r.conns = nil
}

// TestReset resets the route between two nodes. It is restored long before the server's own
// attempt, which is a second later.
func TestReset(t *testing.T) {
	f := func(name string, prepare func(toA, toB *resetter)) {
		t.Run(name, func(t *testing.T) {
			a := start(t, "a", 0xa, nil)
			b := start(t, "b", 0xb, nil)
			toA, toB := startResetter(t, a), startResetter(t, b)
			for _, n := range []*node{a, b} {
				n.SetPeers(map[string]string{"a": toA.Addr().String(), "b": toB.Addr().String()})
			}
			connected := func() bool {
				a.Repair()
				b.Repair()
				return toA.open()+toB.open() > 0 && a.Stats().Peers == 1 && b.Stats().Peers == 1
			}
			await.Until(t, connected)
			prepare(toA, toB)
			fastest := time.Hour
			for range 10 { // on a loaded machine some take longer
				if fastest < 500*time.Millisecond {
					break
				}
				reaches(t, a, b)
				begun := time.Now()
				toA.reset()
				toB.reset()
				await.Until(t, connected)
				reaches(t, a, b)
				fastest = min(fastest, time.Since(begun))
			}
			if fastest >= 500*time.Millisecond {
				t.Errorf("a route is restored after %s", fastest)
			}
		})
	}
	f("both can connect", func(toA, toB *resetter) {})
	f("only the first can connect", func(toA, toB *resetter) { toA.Close() })
	f("only the second can connect", func(toA, toB *resetter) { toB.Close() })
}

// TestReconnectDelay connects to a deployment again soon at first, and then less often.
func TestReconnectDelay(t *testing.T) {
	for attempt, mean := range map[int]time.Duration{
		1: 20 * time.Millisecond, 2: 40 * time.Millisecond, 4: 160 * time.Millisecond,
		5: reconnectWait, 100: reconnectWait,
	} {
		for range 100 {
			if d := reconnectDelay(attempt); d < mean/2 || d >= mean*3/2 {
				t.Errorf("attempt %d: after %s, want about %s", attempt, d, mean)
			}
		}
	}
}
