package dax

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/kasoku/kasoku/internal/listener"
)

// conn is one connection.
type conn struct {
	listener.Conn
	srv   *Server
	local netip.AddrPort
	auth  authorization
	agent []byte // the client's software, from the preamble
	k     *call  // nil while idle

	// due is when the preamble, or the request that is not whole, has to be there, counted
	// from the server's epoch.
	due time.Duration
	// proveBy is when the client, which has greeted and is idle, must have proved who it is.
	proveBy time.Duration

	ids listener.RequestIDs

	greeted  bool // the preamble has arrived
	proved   bool // a client that may make requests has been on this connection
	unproved bool // none was in time: the connection is being closed
	framed   bool // replies are sent in frames
	answered bool // a request was since the connection was last idle
	linger   bool // the client may still be sending: take it in before closing
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, ids: listener.NewRequestIDs(), local: listener.AddrPort(nc.LocalAddr())}
	c.Init(s.conns, c, nc)
	return c
}

// Serve implements listener.Protocol.
func (c *conn) Serve() {
	defer c.close()
	patience := c.srv.set.Load().limits.PreambleTimeout
	c.due = c.srv.clock() + patience
	if c.srv.cfg.TLS != nil {
		if _, err := c.Handshake(c.srv.cfg.TLS, patience); err != nil {
			c.srv.metrics.handshakes.Inc()
			return
		}
	}
	c.ReadLoop()
}

// Buffer implements listener.Protocol.
func (c *conn) Buffer() []byte { return c.callUnderWay().in.space() }

// Buffered implements listener.Protocol.
func (c *conn) Buffered() bool { return c.k != nil }

// First implements listener.Protocol.
func (c *conn) First(b byte) {
	k := c.callUnderWay()
	c.begin()
	k.in.buf[0], k.in.have = b, 1
	c.armPartial()
}

// Resume implements listener.Protocol. Requests are always served while they are read.
func (c *conn) Resume() bool { return false }

// callUnderWay returns the call of the request that has begun, or a new one.
func (c *conn) callUnderWay() *call {
	if c.k == nil {
		c.k = c.srv.acquireCall(c)
	}
	return c.k
}

// Rest implements listener.Protocol.
func (c *conn) Rest() bool {
	if c.partial() {
		c.armPartial()
	}
	if c.begun() {
		return c.srv.hard.Err() == nil
	}
	if c.k != nil {
		c.srv.release(c.k)
		c.k = nil
	}
	if !c.proved && !c.partial() {
		c.proveBy = c.srv.clock() + c.srv.set.Load().limits.UnauthenticatedIdle
		c.Arm(c.proveBy)
	} else if c.Unsure && c.Armed == 0 {
		c.Arm(c.srv.clock() + lookAgain)
	}
	c.SetIdle()
	answered := c.answered
	c.answered = false
	return !c.srv.ends(answered)
}

// lookAgain is after what time an idle connection is looked at once more, for an end that
// was told along with a request. It is not closed for being idle.
const lookAgain = time.Minute

// begun tells whether some bytes of a message have come, and not all.
func (c *conn) begun() bool { return c.k != nil && c.k.in.off < c.k.in.have }

// partial tells whether the client has to send something: what has begun, or the preamble.
func (c *conn) partial() bool { return !c.greeted || c.begun() }

// armPartial sees to it that the wait ends when the time for what has begun is over.
func (c *conn) armPartial() {
	if c.Armed == 0 || c.Armed > c.due {
		c.Arm(c.due)
	}
}

// Failed implements listener.Protocol. A client whose request is too slow gets an answer.
func (c *conn) Failed(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.Kicked() || c.srv.hard.Err() != nil {
		return false
	}
	now := c.srv.clock()
	if c.partial() && now >= c.due {
		c.tooSlow()
		return false
	}
	if !c.proved && !c.partial() && now >= c.proveBy {
		c.srv.metrics.unproved.Inc()
		c.unproved = true
		return false
	}
	c.Armed, c.Unsure = 0, false
	if c.partial() {
		c.Arm(c.due)
	} else {
		_ = c.Sock.SetReadDeadline(time.Time{})
	}
	return c.srv.hard.Err() == nil && !c.Kicked()
}

// Received implements listener.Protocol.
func (c *conn) Received(n int) bool {
	if !c.begun() {
		c.begin()
	} else {
		c.k.late = true
	}
	c.k.in.have += n
	return c.proceed()
}

// begin notes that a message has begun.
func (c *conn) begin() {
	c.Unkick() // a request that has arrived is answered
	k := c.k
	k.now, k.late = time.Now(), false
	now := k.now.Sub(c.srv.epoch)
	c.srv.sysmon.Wake(now)
	k.set = c.srv.set.Load()
	if c.greeted {
		c.due = now + k.set.limits.RequestTime
	}
	k.expect(c.greeted)
}
