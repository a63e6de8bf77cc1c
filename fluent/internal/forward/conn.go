package forward

import (
	"net"
	"time"
)

// Conn is an open connection. Write belongs to one goroutine, ReadAck to
// another or the same; the other methods may be called from anywhere.
type Conn struct {
	net.Conn          // what is read and written
	raw      net.Conn // the same, below TLS
	o        *Options

	trip      time.Duration // what connecting took: one round trip or more
	keepalive bool          // the server takes more than one message

	in input // the reader's

	// The writer's, used again for each message.
	head   []byte // what stands before the entries, then the option
	whole  []byte // entries with integer times
	body   []byte // entries compressed, or messages of single events
	parts  [3][]byte
	vector net.Buffers
}

func newConn(raw net.Conn, o *Options) *Conn {
	return &Conn{Conn: raw, raw: raw, o: o, keepalive: true}
}

// Keepalive tells whether the server takes more than one message on this
// connection. If not, it closes after the first, once that is acknowledged.
func (c *Conn) Keepalive() bool { return c.keepalive }

// Trip is how long connecting took, without TLS and handshake: at least the
// time to the server and back.
func (c *Conn) Trip() time.Duration { return c.trip }

// Abort closes the connection at once, without a farewell that the peer might
// not read.
func (c *Conn) Abort() { _ = c.raw.Close() }

// CloseWrite tells the server that nothing more will come, where that is
// possible: a server then answers by closing.
func (c *Conn) CloseWrite() {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Check returns an error when the server has closed or reset the connection,
// as far as this machine knows. It takes nothing from what there is to read.
func (c *Conn) Check() error { return check(c.raw) }
