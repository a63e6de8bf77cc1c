package admin

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/listener"
)

// Limits bound the connections of the administrator's server.
type Limits struct {
	// Connections is how many there may be at a time, and ConnectionsPerClient how many from
	// one client address (one /64 of IPv6); one more is answered with 503. 0: no bound.
	Connections, ConnectionsPerClient int
	// UnauthenticatedIdle is how long a connection may be without a request until one with
	// the token was made on it, or any where there is no token. 0: no bound.
	UnauthenticatedIdle time.Duration
}

// reserve is how many file descriptors are held for connections of administrators who want
// to know why there are no others left.
const reserve = 8

// bounded is a listener whose connections are held to limits.
type bounded struct {
	*listener.Guard
	limits  atomic.Pointer[Limits]
	open    atomic.Int64
	clients listener.Clients
	refuser *listener.Refuser
}

func newBounded(ln net.Listener) *bounded {
	return &bounded{Guard: listener.NewGuard(ln, "admin", reserve, listener.RefuseNow), refuser: listener.NewRefuser()}
}

// Accept returns the next connection that is not beyond a limit.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		nc, err := b.Guard.Accept()
		if err != nil {
			return nil, err
		}
		if c := b.admit(nc); c != nil {
			return c, nil
		}
		b.refuser.Refuse(nc)
	}
}

// admit counts a connection; nil if it is beyond a limit.
func (b *bounded) admit(nc net.Conn) *conn {
	l := b.limits.Load()
	c := &conn{Conn: nc, from: b}
	if tcp, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		c.client = tcp.AddrPort().Addr()
	}
	if !b.clients.Add(c.client, l.ConnectionsPerClient) {
		return nil
	}
	if n := b.open.Add(1); l.Connections > 0 && n > int64(l.Connections) {
		c.forget()
		return nil
	}
	return c
}

// conn is a connection of a bounded listener.
type conn struct {
	net.Conn
	from     *bounded
	client   netip.Addr
	accepted atomic.Bool // a request was
	once     sync.Once
}

// SetReadDeadline implements net.Conn. Until a request was accepted, no wait that has an
// end is longer than UnauthenticatedIdle.
func (c *conn) SetReadDeadline(t time.Time) error {
	if idle := c.from.limits.Load().UnauthenticatedIdle; idle > 0 && !t.IsZero() && !c.accepted.Load() {
		if latest := time.Now().Add(idle); t.After(latest) {
			t = latest
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.forget)
	return err
}

func (c *conn) forget() {
	c.from.clients.Remove(c.client)
	c.from.open.Add(-1)
	c.from.Refill()
}

// connKey is the key of a request's *conn in its context.
type connKey struct{}

func withConn(ctx context.Context, nc net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, nc)
}

// accept lets the connection of r be idle for longer.
func accept(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.accepted.Store(true)
	}
}
