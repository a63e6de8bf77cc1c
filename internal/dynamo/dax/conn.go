package dax

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/socket"
)

// What a connection is doing, for those who want to stop it.
const (
	isActive uint32 = iota // has a request under way, or is about to look
	isIdle                 // waits for one
	isKicked               // was idle and has been told to go
)

// conn is one connection. All of it belongs to the goroutine that serves it but for
// state, which kick takes from isIdle to isKicked, and the deadlines of sock, which
// others move into the past to wake that goroutine.
type conn struct {
	srv           *Server
	sock          net.Conn        // the socket; what others may touch
	nc            net.Conn        // the same, or TLS over it
	raw           syscall.RawConn // of the socket; nil where there is none
	client, local netip.AddrPort
	booked        netip.Addr // as which the connection is in srv.clients
	auth          authorization
	agent         []byte // the client's software, as the preamble tells it
	k             *call  // nil while idle

	// fd is the socket while the goroutine is inside raw.Read, -1 otherwise.
	fd int
	// armed is the read deadline that is set, 0 for none; due is when the preamble, or
	// the request that is not whole, has to be there. Both count from the server's epoch.
	armed, due time.Duration
	// proveBy is when the client, which has greeted and is idle, must have proved who it is.
	proveBy time.Duration

	state   atomic.Uint32
	ids     edge.RequestIDs
	rates   edge.Rates    // that limiter comes from
	limiter *rate.Limiter // of the client's address

	greeted  bool // the preamble has come
	proved   bool // a client that may make requests has been on this connection
	unproved bool // none was in time: the connection is being closed
	framed   bool // replies are to be in frames
	drain    bool // read until nothing is left before waiting
	served   bool // a request was answered
	answered bool // one was since the connection was last idle
	unsure   bool // an end of the stream may have come along with what was read last
	linger   bool // the client may still be sending: take it in before closing
	secure   bool
	first    [1]byte // of a request, where idling needs a byte to read into
}

func newConn(s *Server, nc net.Conn) *conn {
	return &conn{srv: s, sock: nc, nc: nc, raw: socket.Raw(nc), fd: -1, drain: true, ids: edge.NewRequestIDs(),
		client: addressOf(nc.RemoteAddr()), local: addressOf(nc.LocalAddr())}
}

func addressOf(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// serve runs the connection from its first byte to its end.
func (c *conn) serve() {
	defer c.close()
	c.due = c.srv.clock() + c.srv.set.Load().limits.PreambleTimeout
	if c.srv.cfg.TLS != nil && !c.handshake() {
		return
	}
	if !c.rest() {
		return
	}
	if c.raw != nil && !c.secure {
		c.serveRaw()
	} else {
		c.serveStream()
	}
}

func (c *conn) handshake() bool {
	tc := tls.Server(c.nc, c.srv.cfg.TLS)
	c.arm(c.due)
	_ = c.sock.SetWriteDeadline(c.srv.epoch.Add(c.due))
	c.nc, c.secure = tc, true
	ctx, cancel := context.WithDeadline(c.srv.hard, c.srv.epoch.Add(c.due))
	defer cancel()
	if err := tc.HandshakeContext(ctx); err != nil {
		c.srv.metrics.handshakes.Inc()
		return false
	}
	return true
}

// serveRaw waits for bytes without holding a buffer for them.
func (c *conn) serveRaw() {
	for {
		err := c.raw.Read(c.readable)
		c.fd = -1
		if err == nil || !c.waited(err) || !c.rest() {
			return
		}
		c.drain = true // readiness that was noted before is lost by reading anew
	}
}

// readable is called by raw.Read at first and whenever there may be bytes, and returns
// true to end it. All requests are served in here: as long as raw.Read is not left, a
// notice of new bytes is kept from one wait to the next, so that a read which did not fill
// its buffer need not be followed by another that says EAGAIN. Only up to the first answer
// that is done, and after a wait that took long: the end of the stream may have come along
// with a request, and is not told twice.
func (c *conn) readable(fd uintptr) bool {
	c.fd = int(fd)
	for {
		space := c.take().in.space()
		n, err := socket.Read(c.fd, space)
		if err == syscall.EAGAIN {
			c.drain, c.unsure = !c.served, false
			return !c.rest()
		}
		if n <= 0 || !c.took(n) {
			return true
		}
		if n < len(space) && !c.drain {
			c.unsure = true
			return !c.rest()
		}
	}
}

// serveStream is serveRaw for connections that are not plain sockets. While idle it reads
// into a single byte, and the rest of what came into a buffer.
func (c *conn) serveStream() {
	for {
		space := c.first[:]
		if c.k != nil {
			space = c.k.in.space()
		}
		n, err := c.nc.Read(space)
		if n > 0 {
			if k := c.take(); k.in.have == 0 {
				copy(k.in.buf, space[:n])
			}
			if !c.took(n) {
				return
			}
		}
		if err != nil && !c.waited(err) || !c.rest() {
			return
		}
	}
}

// add returns the call under way, or a new one.
func (c *conn) take() *call {
	if c.k == nil {
		c.k = c.srv.obtain(c)
	}
	return c.k
}

// release prepares for waiting: a deadline is set where there has to be one, and an idle
// connection gives its buffers back. False means that the connection is to be closed.
func (c *conn) rest() bool {
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
		c.arm(c.proveBy)
	} else if c.unsure && c.armed == 0 {
		c.arm(c.srv.clock() + lookAgain)
	}
	c.state.CompareAndSwap(isActive, isIdle)
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
	if c.armed == 0 || c.armed > c.due {
		c.arm(c.due)
	}
}

// arm sets the read deadline, counted from the epoch.
func (c *conn) arm(at time.Duration) {
	c.armed = at
	_ = c.sock.SetReadDeadline(c.srv.epoch.Add(at))
}

// waited handles an error of waiting or reading: true means that waiting is to go on. A
// client that is too slow with its request is told so.
func (c *conn) waited(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.state.Load() == isKicked || c.srv.hard.Err() != nil {
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
	c.armed, c.unsure = 0, false
	if c.partial() {
		c.arm(c.due)
	} else {
		_ = c.sock.SetReadDeadline(time.Time{})
	}
	return c.srv.hard.Err() == nil && c.state.Load() != isKicked
}

// took handles n more bytes. False means that the connection is to be closed.
func (c *conn) took(n int) bool {
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
	c.state.Store(isActive) // also after isKicked: what has arrived is answered
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
