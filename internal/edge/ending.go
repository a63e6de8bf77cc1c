package edge

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/socket"
)

// close ends the connection. Closing a socket with unread bytes in it resets
// the connection and may take the answer away from the client, so that what a
// refused client is still sending is read for a while.
func (c *conn) close() {
	if c.linger {
		c.state.CompareAndSwap(isActive, isIdle)
		c.lingerOn()
	}
	c.hangUp()
	if c.x != nil {
		c.x.release()
		c.x = nil
	}
	c.srv.forget(c)
}

// lingerTime is for how long a refused client may still send.
const lingerTime = 2 * time.Second

// lingerOn reads what a refused client still sends, unless the server stops.
func (c *conn) lingerOn() {
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	if !c.srv.draining.Load() {
		listener.Drain(c.nc, c.take().in.buf)
	}
}

// kick makes the connection go if it is idle.
func (c *conn) kick() {
	if c.state.CompareAndSwap(isIdle, isKicked) {
		_ = c.sock.SetReadDeadline(socket.Past)
	}
}

// cut wakes the goroutine from whatever the socket makes it wait for; the
// server's hard context, cancelled before, tells it to leave. A connection whose
// deadlines are set by others is closed.
func (c *conn) cut() {
	switch c.state.Load() {
	case isHanded, isRaised:
		_ = c.sock.Close()
	default:
		_ = c.sock.SetDeadline(socket.Past)
	}
}

// hangUp closes the connection. The end of a broken one must not look like that of
// a body: without TLS's farewell, and as a reset where only the end would tell.
func (c *conn) hangUp() {
	if !c.broken {
		_ = c.nc.Close()
		return
	}
	if tcp, ok := c.sock.(*net.TCPConn); ok && c.x != nil && !c.x.answer.chunked && c.x.answer.left < 0 {
		_ = tcp.SetLinger(0)
	}
	if secure, ok := c.nc.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
		return
	}
	_ = c.nc.Close()
}
