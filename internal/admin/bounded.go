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

// Limits bound the connections of the admin server.
type Limits struct {
	// Connections is the maximum number of connections, and ConnectionsPerClient the maximum
	// from one client address (one /64 of IPv6); further ones are answered with 503. 0 means
	// no limit.
	Connections, ConnectionsPerClient int
	// UnauthenticatedIdle is the maximum idle time of a connection before the first request
	// with the token, or before any request if there is no token. 0 means no limit.
	UnauthenticatedIdle time.Duration
}

// reserve is the number of file descriptors reserved for administrators: they need a
// connection to find out why there are no others left.
const reserve = 8

// bounded is a listener that enforces limits on its connections.
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

// Accept returns the next connection within the limits.
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

// admit counts a connection and returns it, or nil if it exceeds a limit.
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
	accepted atomic.Bool // a request was accepted
	once     sync.Once
}

// SetReadDeadline implements net.Conn. Until a request was accepted, it shortens deadlines
// to UnauthenticatedIdle.
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

// accept removes the limit of idle time for the connection of r.
func accept(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok {
		c.accepted.Store(true)
	}
}
