package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/kasoku/kasoku/internal/socket"
)

// conn is a connection to an origin. It belongs to one request or to the pool.
type conn struct {
	net.Conn          // carries the requests: raw, or TLS over it
	raw      net.Conn // the connection to the kernel
	meter    *meter   // between TLS and raw; nil without TLS
	// stream is raw, read and written at less cost; nil with TLS and if raw is no socket.
	stream *socket.Stream
	// idle checks the socket; nil if raw is no socket.
	idle func() bool
	// unchecked is set while it is unknown whether anything has arrived since it was put into the
	// pool.
	unchecked bool
	// used is set once the connection has served a request.
	used bool
	// since is the time when it was put into the pool.
	since time.Time
	// until is the time after which the origin may close it, as announced; zero if not
	// announced.
	until time.Time
	// interrupt ends all present and future reads and writes. It may be called by another
	// goroutine at any time.
	interrupt func()
	// tunnel is set when the connection has switched protocols.
	tunnel *tunnel
}

func newConn(raw net.Conn) *conn {
	c := &conn{Conn: raw, raw: raw}
	if s := socket.Raw(raw); s != nil {
		c.idle, c.stream = newIdleCheck(s), socket.NewStream(s)
	}
	c.interrupt = func() { c.raw.SetDeadline(aLongTimeAgo) }
	return c
}

// aLongTimeAgo is a deadline in the past: it interrupts reads and writes.
var aLongTimeAgo = time.Unix(1, 0)

// encrypt makes the TLS handshake.
func (c *conn) encrypt(ctx context.Context, cfg *tls.Config) error {
	c.meter, c.stream = &meter{Conn: c.raw}, nil
	t := tls.Client(c.meter, cfg)
	c.Conn = t
	return t.HandshakeContext(ctx)
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if c.stream != nil {
		return c.stream.Read(b)
	}
	return c.Conn.Read(b)
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if c.stream != nil {
		return c.stream.Write(b)
	}
	return c.Conn.Write(b)
}

// closeWrite closes the direction towards the origin and reports whether it succeeded.
func (c *conn) closeWrite() bool {
	h, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || h.CloseWrite() != nil {
		return false
	}
	if c.meter == nil {
		return true
	}
	h, ok = c.raw.(interface{ CloseWrite() error }) // TLS only sends its own alert
	return ok && h.CloseWrite() == nil
}

// Close closes at once. tls.Conn.Close could block on its closing alert.
func (c *conn) Close() error { return c.raw.Close() }

// meter records what crypto/tls does not report: the bytes written, and whether the
// connection ended without a closing alert. Only the connection's owner reads and writes.
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

// send writes all of the buffers. It reports whether any byte may have been sent, which over
// TLS is not the same as the number of accepted bytes.
func (c *conn) send(head, body []byte) (left bool, err error) {
	if c.takeUnchecked() && !c.idle() {
		return false, socket.ErrNotIdle
	}
	var n int64
	before := 0
	if c.meter != nil {
		before = c.meter.written
	}
	if len(body) == 0 {
		var k int
		k, err = c.Write(head)
		n = int64(k)
	} else {
		parts := net.Buffers{head, body}
		n, err = parts.WriteTo(c.Conn)
	}
	return n > 0 || c.meter != nil && c.meter.written > before, err
}

// sendGuarded is send if guard, which may be nil, allows it. It returns errWithheld if guard
// does not, or, with last, does not any more once everything was sent.
func (c *conn) sendGuarded(head, body []byte, guard func() bool, last bool) (left bool, err error) {
	if guard == nil {
		return c.send(head, body)
	}
	if !guard() {
		return false, errWithheld
	}
	if left, err = c.send(head, body); err == nil && last && !guard() {
		err = errWithheld
	}
	return left, err
}

// takeUnchecked returns unchecked and clears it.
func (c *conn) takeUnchecked() bool {
	u := c.unchecked
	c.unchecked = false
	return u
}

// truncated reports whether an ended TLS connection had no closing alert, so that a third
// party may have ended it.
func (c *conn) truncated() bool { return c.meter != nil && c.meter.ended }

// reusable sets the deadline and reports whether the connection can be used again: it is
// open, has nothing to read, and is not about to be closed. Unsolicited data would otherwise
// be read as the next answer. A plain socket is checked when the request is sent, whose error is
// then ErrNotIdle.
func (c *conn) reusable(deadline time.Time) bool {
	if !c.until.IsZero() && !time.Now().Before(c.until) {
		return false
	}
	if c.SetDeadline(deadline) != nil {
		return false
	}
	if c.stream != nil {
		c.unchecked = true
		return true
	}
	if c.idle != nil && !c.idle() {
		return false
	}
	// TLS may hold data already read from the socket, and a connection that is no socket has
	// no other check: try a read that does not block.
	var b [1]byte
	c.raw.SetReadDeadline(aLongTimeAgo)
	n, err := c.Read(b[:])
	return n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && c.SetDeadline(deadline) == nil
}
