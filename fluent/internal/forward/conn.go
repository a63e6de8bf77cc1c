package forward

import (
	"net"
	"time"
)

// Conn is an open connection. Write may be called by one goroutine, ReadAck by another or
// the same; the other methods are safe for concurrent use.
type Conn struct {
	net.Conn          // for reading and writing
	raw      net.Conn // the same, below TLS
	o        *Options

	trip      time.Duration // time of connecting: one round trip or more
	keepalive bool          // the server accepts more than one message

	in input // used by the reader

	// The writer's, used again for each message.
	head   []byte // the part before the entries, then the option
	whole  []byte // entries with integer times
	body   []byte // entries compressed, or messages of single events
	parts  [3][]byte
	vector net.Buffers
}

func newConn(raw net.Conn, o *Options) *Conn {
	return &Conn{Conn: raw, raw: raw, o: o, keepalive: true}
}

// Keepalive reports whether the server accepts more than one message on this connection. If
// not, it closes after the first one is acknowledged.
func (c *Conn) Keepalive() bool { return c.keepalive }

// Trip returns the time of connecting, without TLS and handshake: at least one round trip to
// the server.
func (c *Conn) Trip() time.Duration { return c.trip }

// Abort closes the raw connection at once, without a TLS alert that the peer might not read.
func (c *Conn) Abort() { _ = c.raw.Close() }

// CloseWrite closes the sending direction, if possible: the server then closes the
// connection.
func (c *Conn) CloseWrite() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Check returns an error if the server is known to have closed or reset the connection. It
// consumes no data.
func (c *Conn) Check() error { return check(c.raw) }
