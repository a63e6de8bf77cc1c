package dax

import (
	"bytes"
	"crypto/tls"
	"net"
	"time"

	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/socket"
)

// close ends the connection. Closing a socket with unread bytes in it resets the
// connection and may take an answer away from the client, so that what a refused client is
// still sending is read for a while.
func (c *conn) close() {
	if c.linger && !c.srv.stopping.Load() {
		c.state.CompareAndSwap(isActive, isIdle)
		c.lingerOn()
	}
	if (c.unproved || c.srv.stopping.Load()) && c.resets() {
		c.settle()
		c.abort()
	}
	_ = c.nc.Close()
	if c.k != nil {
		c.srv.release(c.k)
		c.k = nil
	}
	c.srv.forget(c)
}

// lingerTime is for how long a refused client may still send.
const lingerTime = 2 * time.Second

// lingerOn reads what a refused client still sends.
func (c *conn) lingerOn() {
	_ = c.sock.SetReadDeadline(time.Now().Add(lingerTime))
	listener.Drain(c.nc, c.take().in.small)
}

// resets tells whether the client takes the end of a connection that it keeps for its next
// request as a failure of that request, but tries again after a reset. With the other
// clients it is the other way round.
func (c *conn) resets() bool { return bytes.HasPrefix(c.agent, []byte("DaxGoV2Client")) }

// settle gives a client whose connection is going to be reset the time to take the reply
// that was written just before.
func (c *conn) settle() {
	if c.served && c.state.Load() != isKicked {
		_ = c.sock.SetReadDeadline(time.Now().Add(settleTime))
		_, _ = c.sock.Read(c.first[:])
	}
}

const settleTime = 50 * time.Millisecond

// abort lets the close that follows be a reset, without TLS's farewell.
func (c *conn) abort() {
	if tcp, ok := c.sock.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	if secure, ok := c.nc.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
	}
}

// kick closes the connection if it is idle. The deadline is not in the past, so that a request
// that has already arrived is still read, and answered.
func (c *conn) kick() {
	if c.state.CompareAndSwap(isIdle, isKicked) {
		_ = c.sock.SetReadDeadline(time.Now().Add(lastLook))
	}
}

const lastLook = time.Millisecond

// cut wakes the goroutine from whatever the socket makes it wait for; the server's hard
// context, cancelled before, tells it to leave.
func (c *conn) cut() { _ = c.sock.SetDeadline(socket.Past) }
