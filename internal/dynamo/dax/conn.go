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

	// due is the deadline of the preamble or of the incomplete request, since the server's
	// epoch.
	due time.Duration
	// proveBy is the deadline for the authentication of an idle client, since the server's
	// epoch.
	proveBy time.Duration

	ids listener.RequestIDs

	hasPreamble     bool // the preamble has arrived
	proved          bool // a client with permission has used this connection
	unauthenticated bool // authentication has timed out; the connection is being closed
	framed          bool // replies are sent in frames
	answered        bool // a request has been answered since the connection was last idle
	hungUp          bool // the service wants no reply to be sent
	linger          bool // the client may still be sending: read it before closing
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, ids: listener.NewRequestIDs(), local: listener.AddrPort(nc.LocalAddr())}
	c.Init(s.conns, c, nc)
	return c
}

// Serve implements listener.Protocol.
func (c *conn) Serve() {
	defer c.close()
	timeout := c.srv.set.Load().limits.PreambleTimeout
	c.due = c.srv.clock() + timeout
	if c.srv.cfg.TLS != nil {
		if _, err := c.Handshake(c.srv.cfg.TLS, timeout); err != nil {
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

// callUnderWay returns the call of the current request, or a new one.
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
		c.Arm(c.srv.clock() + idleCheckInterval)
	}
	c.SetIdle()
	answered := c.answered
	c.answered = false
	return !c.srv.ends(answered)
}

// idleCheckInterval is the interval after which an idle connection is checked once more for the end
// of the stream, which may have been signalled together with a request. A connection isn't
// closed for being idle.
const idleCheckInterval = time.Minute

// begun reports whether a part of a message has arrived.
func (c *conn) begun() bool { return c.k != nil && c.k.in.off < c.k.in.have }

// partial reports whether the client must send more: the rest of a message, or the preamble.
func (c *conn) partial() bool { return !c.hasPreamble || c.begun() }

// armPartial sets the read deadline of a message that has begun.
func (c *conn) armPartial() {
	if c.Armed == 0 || c.Armed > c.due {
		c.Arm(c.due)
	}
}

// Failed implements listener.Protocol. A client whose request is too slow receives an error.
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
		c.srv.metrics.unauthenticated.Inc()
		c.unauthenticated = true
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

// begin initialises the state of a new message.
func (c *conn) begin() {
	c.Unkick() // a request that has arrived is always answered
	k := c.k
	k.now, k.late = time.Now(), false
	now := k.now.Sub(c.srv.epoch)
	c.srv.sysmon.Wake(now)
	k.set = c.srv.set.Load()
	if c.hasPreamble {
		c.due = now + k.set.limits.RequestTime
	}
	k.expect(c.hasPreamble)
}
