package dax

import (
	"bytes"
	"time"
)

// close closes the connection. Closing a socket with unread bytes resets the connection, and
// the client may then lose a reply. The bytes that a rejected client is still sending are
// therefore read for a while.
func (c *conn) close() {
	if c.linger {
		c.Linger(c.callUnderWay().in.small)
	}
	if c.hungUp {
		c.Abort(true)
	}
	if (c.unauthenticated || c.srv.conns.Stopping()) && c.resets() {
		c.settle()
		c.Abort(true)
	}
	_ = c.NC.Close()
	if c.k != nil {
		c.srv.release(c.k)
		c.k = nil
	}
	c.Forget()
}

// resets reports whether the client retries a request after a reset of its idle connection,
// but not after the end of the stream. Other clients behave the other way round.
func (c *conn) resets() bool { return bytes.HasPrefix(c.agent, []byte("DaxGoV2Client")) }

// settle gives a client time to read the last reply before its connection is reset.
func (c *conn) settle() {
	if c.Served && !c.Kicked() {
		_ = c.Sock.SetReadDeadline(time.Now().Add(settleTime))
		var b [1]byte
		_, _ = c.Sock.Read(b[:])
	}
}

const settleTime = 50 * time.Millisecond
