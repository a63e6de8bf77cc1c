package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// conn is a connection to an origin. It belongs to one request, or to the pool.
type conn struct {
	net.Conn          // what requests are written to: raw, or TLS over it
	raw      net.Conn // what reaches the kernel
	meter    *meter   // between TLS and raw; nil without
	// idle looks at the socket; nil if raw is none.
	idle func() bool
	// used says that the connection has served a request.
	used bool
	// since is when the pool got it.
	since time.Time
	// until is when the origin may close it, by its own word; zero without one.
	until time.Time
	// interrupt ends the reading and writing that is under way, and all that
	// follows. It may be called by another goroutine at any time.
	interrupt func()
	// tunnel is set when the connection has switched protocols.
	tunnel *tunnel
}

func newConn(raw net.Conn) *conn {
	c := &conn{Conn: raw, raw: raw}
	if s, ok := raw.(syscall.Conn); ok {
		if socket, err := s.SyscallConn(); err == nil {
			c.idle = newIdleCheck(socket)
		}
	}
	c.interrupt = func() { c.raw.SetDeadline(aLongTimeAgo) }
	return c
}

// aLongTimeAgo is a deadline that has been missed.
var aLongTimeAgo = time.Unix(1, 0)

// encrypt makes the handshake of TLS.
func (c *conn) encrypt(ctx context.Context, cfg *tls.Config) error {
	c.meter = &meter{Conn: c.raw}
	t := tls.Client(c.meter, cfg)
	c.Conn = t
	return t.HandshakeContext(ctx)
}

// closeWrite ends the direction towards the origin, and says whether it could.
func (c *conn) closeWrite() bool {
	h, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || h.CloseWrite() != nil {
		return false
	}
	if c.meter == nil {
		return true
	}
	h, ok = c.raw.(interface{ CloseWrite() error }) // TLS has only said so
	return ok && h.CloseWrite() == nil
}

// Close closes at once: TLS would say goodbye first, and could wait for that.
func (c *conn) Close() error { return c.raw.Close() }

// meter knows what TLS does not tell: how much it wrote, and whether the connection
// ended without TLS's own end. Only the connection's owner reads and writes.
type meter struct {
	net.Conn
	written int
	ended   bool
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.ended = m.ended || err == io.EOF
	return n, err
}

func (m *meter) Write(b []byte) (int, error) {
	n, err := m.Conn.Write(b)
	m.written += n
	return n, err
}

// send writes all of the buffers. It reports whether any byte may have left, which
// over TLS says more than the number of bytes that were accepted.
func (c *conn) send(head, body []byte) (left bool, err error) {
	var n int64
	before := 0
	if c.meter != nil {
		before = c.meter.written
	}
	if len(body) == 0 {
		var k int
		k, err = c.Conn.Write(head)
		n = int64(k)
	} else {
		parts := net.Buffers{head, body}
		n, err = parts.WriteTo(c.Conn)
	}
	return n > 0 || c.meter != nil && c.meter.written > before, err
}

// truncated says of a connection that has ended whether somebody on the way could have
// ended it: over TLS, the origin says that itself.
func (c *conn) truncated() bool { return c.meter != nil && c.meter.ended }

// reusable sets the deadline and reports whether the connection is as it was left:
// open, with nothing to read, and not about to be closed. What an origin sends unasked would otherwise be
// taken for the next answer.
func (c *conn) reusable(deadline time.Time) bool {
	if !c.until.IsZero() && !time.Now().Before(c.until) {
		return false
	}
	if c.SetDeadline(deadline) != nil || c.idle != nil && !c.idle() {
		return false
	}
	if c.idle != nil && c.meter == nil {
		return true
	}
	// TLS may hold bytes that have left the socket already, and what is no socket
	// can't be asked otherwise: a read that may not wait tells.
	var b [1]byte
	c.raw.SetReadDeadline(aLongTimeAgo)
	n, err := c.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.SetDeadline(deadline) == nil
}
