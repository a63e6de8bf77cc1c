package dax

import (
	"bytes"
	"time"
)

// close ends the connection. Closing a socket with unread bytes in it resets the
// connection and may take an answer away from the client, so that what a refused client is
// still sending is read for a while.
func (c *conn) close() {
	if c.linger {
		c.Linger(c.callUnderWay().in.small)
	}
	if (c.unproved || c.srv.conns.Stopping()) && c.resets() {
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

// resets tells whether the client takes the end of a connection that it keeps for its next
// request as a failure of that request, but tries again after a reset. With the other
// clients it is the other way round.
func (c *conn) resets() bool { return bytes.HasPrefix(c.agent, []byte("DaxGoV2Client")) }

// settle gives a client whose connection is going to be reset the time to take the reply
// that was written just before.
func (c *conn) settle() {
	if c.Served && !c.Kicked() {
		_ = c.Sock.SetReadDeadline(time.Now().Add(settleTime))
		var b [1]byte
		_, _ = c.Sock.Read(b[:])
	}
}

const settleTime = 50 * time.Millisecond
