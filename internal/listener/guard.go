package listener

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Guard is a listener that also accepts connections when the process has no file
// descriptor left. It then closes a descriptor that it holds in reserve, accepts a
// connection with it, and serves that, if the reserve has more, or refuses it. Without a
// reserve, accepting would fail until some other connection ends, and clients would wait.
type Guard struct {
	net.Listener
	name   string
	refuse func(net.Conn)

	mu     sync.Mutex // leaf
	held   []*os.File
	size   int       // of the reserve
	warned time.Time // when the log last had that descriptors are used up
}

// NewGuard returns a guard of ln that holds size descriptors, one at least. refuse answers
// and closes a connection that can't be served. name is the listener's name in the log.
func NewGuard(ln net.Listener, name string, size int, refuse func(net.Conn)) *Guard {
	g := &Guard{Listener: ln, name: name, size: max(size, 1), refuse: refuse}
	g.Refill()
	return g
}

// shortPause is how long Accept waits between looks at whether there are descriptors.
const shortPause = 50 * time.Millisecond

// Accept returns the next connection.
func (g *Guard) Accept() (net.Conn, error) {
	for {
		nc, err := g.Listener.Accept()
		if !exhausted(err) {
			return nc, err
		}
		g.warn(err)
		if nc, err = g.acceptShort(); nc != nil || err != nil {
			return nc, err
		}
	}
}

// acceptShort accepts while no descriptor is left. It returns a connection to serve, or
// nothing as soon as there are descriptors.
func (g *Guard) acceptShort() (net.Conn, error) {
	for {
		pending, err := waitPending(g.Listener, shortPause)
		switch {
		case err != nil:
			return nil, err
		case available():
			return nil, nil
		case !pending:
			continue
		}
		left, ok := g.release()
		if !ok {
			time.Sleep(shortPause)
			g.Refill()
			continue
		}
		nc, err := g.Listener.Accept()
		if exhausted(err) { // something else has taken the descriptor
			continue
		}
		if err != nil || left > 0 {
			return nc, err
		}
		g.refuse(nc)
		g.Refill()
	}
}

// release closes one descriptor of the reserve, and returns how many are left.
func (g *Guard) release() (left int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	left = len(g.held) - 1
	if left < 0 {
		return 0, false
	}
	_ = g.held[left].Close()
	g.held = g.held[:left]
	return left, true
}

// Refill takes descriptors until the reserve is whole, as far as there are any.
func (g *Guard) Refill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.held) < g.size {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		g.held = append(g.held, f)
	}
}

// Close closes the listener and gives up the reserve.
func (g *Guard) Close() error {
	err := g.Listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.held {
		_ = f.Close()
	}
	g.held, g.size = nil, 0
	return err
}

// warn logs that descriptors are used up, once a minute at most.
func (g *Guard) warn(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.warned) > time.Minute {
		g.warned = now
		slog.Warn("no file descriptor is left: connections are refused until one is free. Raise the limit on open files (ulimit -n, LimitNOFILE=)",
			"listener", g.name, "address", g.Addr().String(), "error", err)
	}
}

// exhausted reports whether err is that there are no more descriptors, in the process or
// in the whole system.
func exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// available reports whether a descriptor can be had.
func available() bool {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}
