package edge

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// What a connection is doing, for those who want to stop it.
const (
	isActive uint32 = iota // has a request under way, or is about to look
	isIdle                 // waits for one
	isKicked               // was idle and has been told to go
	isHanded               // belongs to the HTTP/2 library
	isRaised               // no longer speaks HTTP
)

// conn is one connection. All of it belongs to the goroutine that serves it but
// for state, which kick takes from isIdle to isKicked, and the deadlines of sock,
// which others move into the past to wake that goroutine.
type conn struct {
	srv    *Server
	sock   net.Conn        // the socket; what others may touch
	nc     net.Conn        // the same, or TLS over it
	raw    syscall.RawConn // of the socket; nil where there is none
	client netip.AddrPort
	booked netip.Addr // as which the connection is in srv.clients
	x      *Exchange  // nil while idle

	// fd is the socket while the goroutine is inside raw.Read, -1 otherwise.
	fd int
	// armed and armedWrite are the deadlines that are set, and now the last
	// reading of the clock, all counted from the server's epoch.
	armed, armedWrite, now time.Duration
	waits                  time.Duration // since when it waits for the client to take more

	state atomic.Uint32
	ids   idSource
	rate  *rate.Limiter // of the client's address, looked up once for each table
	table *rateTable    // that rate comes from

	gift   gift // what is being sent without copying
	taking taking

	accepted bool // a request was, see Limits.UnauthenticatedIdle

	aside  bool // raw.Read was left to serve a request that reads the connection
	drain  bool // read until nothing is left before waiting
	served bool // a request was answered
	linger bool // the client may still be sending: take it in before closing
	broken bool // the client must see that its answer is not whole
	secure bool
	first  [1]byte // of a request, where idling needs a byte to read into
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, sock: nc, nc: nc, raw: socket.Raw(nc), fd: -1, drain: true, ids: newIDSource()}
	if a, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		ap := a.AddrPort()
		c.client = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
	}
	return c
}

// serve runs the connection from its first byte to its end.
func (c *conn) serve() {
	if c.srv.cfg.ProxyProtocol {
		if !c.introduced() {
			c.close()
			return
		}
		if !c.book() {
			c.srv.turnAway(c.nc)
			c.srv.forget(c)
			return
		}
	}
	if c.srv.cfg.TLS != nil {
		tc, ok := c.handshake()
		if ok && tc.ConnectionState().NegotiatedProtocol == "h2" {
			c.speakH2(tc)
			ok = false
		}
		if !ok {
			c.close()
			return
		}
	}
	c.now = time.Since(c.srv.epoch)
	c.arm(c.now + c.idleTimeout())
	if c.rest() {
		if c.raw != nil && !c.secure {
			c.serveRaw()
		} else {
			c.serveStream()
		}
	}
	c.close()
}

// handshake makes the connection a TLS one. It is not ok if that fails.
func (c *conn) handshake() (tc *tls.Conn, ok bool) {
	s := c.srv
	tc = tls.Server(c.nc, s.cfg.TLS)
	_ = c.nc.SetDeadline(time.Now().Add(s.set.Load().limits.HeaderTimeout))
	c.nc, c.secure = tc, true
	if err := tc.HandshakeContext(s.hard); err != nil {
		s.stats.handshakes.Inc()
		return tc, false
	}
	_ = tc.SetDeadline(time.Time{})
	return tc, true
}

// serveRaw waits for bytes without holding a buffer for them.
func (c *conn) serveRaw() {
	for {
		err := c.raw.Read(c.readable)
		c.fd = -1
		switch {
		case c.aside:
			if c.aside = false; !c.proceed(c.x) || !c.rest() {
				return
			}
		case err == nil || !c.waited(err):
			return
		}
		c.drain = true // readiness that was noted before is lost by reading anew
	}
}

// readable is called by raw.Read at first and whenever there may be bytes, and
// returns true to end it. All requests of the connection are served in here but
// those whose handlers read from it: as long as raw.Read is not left, a notice of new bytes is kept from one wait
// to the next, so that a read which did not fill its buffer need not be followed
// by another that says EAGAIN. Only reads up to the first answer and those that
// found several requests are repeated: the end of the stream may have come along
// with them, and is not told twice. Should it come along with a later request,
// the connection ends with the idle timeout.
func (c *conn) readable(fd uintptr) bool {
	c.fd = int(fd)
	if !c.served {
		spread(false)
	}
	for {
		x := c.take()
		space := x.in.space()
		n, err := socket.Read(c.fd, space)
		if err == syscall.EAGAIN {
			c.drain = !c.served
			return !c.rest()
		}
		if n <= 0 || !c.took(n) {
			return true
		}
		if n < len(space) && !c.drain {
			return !c.rest()
		}
	}
}

// serveStream is serveRaw for connections that are not plain sockets. While
// idle it reads into a single byte, and the rest of what came into a buffer.
func (c *conn) serveStream() {
	for {
		var n int
		var err error
		if c.x == nil {
			if n, err = c.nc.Read(c.first[:]); n == 1 {
				x := c.take()
				c.start(x)
				x.in.buf[0], x.in.have = c.first[0], 1
				n, err = c.nc.Read(x.in.space())
			}
		} else {
			n, err = c.nc.Read(c.x.in.space())
		}
		// A first byte that nothing follows is looked at as well.
		if (n > 0 || err != nil && c.x != nil) && !c.took(n) {
			return
		}
		if err != nil && !c.waited(err) {
			return
		}
		if !c.rest() {
			return
		}
	}
}

// take returns the exchange under way, or a new one.
func (c *conn) take() *Exchange {
	if c.x == nil {
		c.x = obtain(c.srv, c)
	}
	return c.x
}

// rest prepares for waiting: the deadline is set, and an idle connection gives
// its buffers back. False means that the connection is to be closed.
func (c *conn) rest() bool {
	x := c.x
	if x != nil && x.in.partial() {
		if !x.in.armed {
			c.armPhase(x)
		}
		return c.srv.hard.Err() == nil
	}
	if x != nil {
		c.x = nil
		x.release()
	}
	idle := c.idleTimeout()
	if left := c.armed - c.now; left < idle/2 || left > idle {
		c.arm(c.now + idle)
	}
	c.state.CompareAndSwap(isActive, isIdle)
	return !c.srv.draining.Load()
}

// idleTimeout is how long the connection may be without a request.
func (c *conn) idleTimeout() time.Duration {
	l := &c.srv.set.Load().limits
	if c.accepted {
		return l.IdleTimeout
	}
	return min(l.IdleTimeout, l.UnauthenticatedIdle)
}

// armPhase sets the deadline of a head or a body that is not whole. It counts
// from the beginning of the phase and is not moved by bytes that dribble in.
func (c *conn) armPhase(x *Exchange) {
	x.in.armed = true
	if x.in.phase == inHead {
		c.arm(x.start.Sub(c.srv.epoch) + x.set.limits.HeaderTimeout)
		return
	}
	c.arm(time.Since(c.srv.epoch) + x.set.limits.BodyTimeout)
}

// arm sets the read deadline, counted from the epoch.
func (c *conn) arm(at time.Duration) {
	c.armed = at
	_ = c.nc.SetReadDeadline(c.srv.epoch.Add(at))
}

// waited handles an error of waiting or reading: true means that waiting is to
// go on. A client that is too slow with a request is told so.
func (c *conn) waited(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.state.Load() == isKicked {
		return false
	}
	if time.Since(c.srv.epoch) < c.armed {
		return c.srv.hard.Err() == nil // an older deadline, reset too late
	}
	if c.x != nil && c.x.in.partial() {
		c.refuse(&http1.Error{Status: http.StatusRequestTimeout, Reason: "request took too long to arrive"})
	} else if !c.accepted {
		c.srv.stats.unproved.Inc()
	}
	return false
}

// took handles n more bytes. False means that the connection is to be closed.
func (c *conn) took(n int) bool {
	x := c.x
	if !x.in.partial() {
		c.start(x)
	}
	x.in.took(n)
	if !x.countBody() {
		return c.refuse(errNoMemory)
	}
	return c.proceed(x)
}

// start begins a message.
func (c *conn) start(x *Exchange) {
	c.state.CompareAndSwap(isIdle, isActive)
	x.start = time.Now()
	c.now = x.start.Sub(c.srv.epoch)
	c.srv.sysmon.Wake(c.now)
	x.set = c.srv.set.Load()
	x.begin(c.client, c.secure)
	c.taking.reset()
}

// proceed takes requests as far as their bytes are there.
func (c *conn) proceed(x *Exchange) bool {
	for {
		if x.in.phase == inHead {
			n, err := http1.ParseRequest(x.in.buf[x.in.off:x.in.have], &x.set.head, &x.Request)
			if err != nil {
				return c.refuse(err.(*http1.Error))
			}
			if n == 0 {
				return true
			}
			x.in.head = n
			if !c.headIn(x) {
				return false
			}
		}
		if ready, ok := c.bodyIn(x); !ready {
			return ok
		}
		if !c.exchange(x) {
			return false
		}
		x.in.next()
		if !x.in.partial() {
			return true
		}
		c.drain = true
		c.start(x)
	}
}

// headIn looks at a head that has just become whole, and prepares for the body.
func (c *conn) headIn(x *Exchange) bool {
	r := &x.Request
	limit := x.set.limits.BodyBytes
	if r.ContentLength > int64(limit) {
		return c.refuse(http1.ErrTooLarge)
	}
	if r.Chunked && len(x.in.buf)-x.in.have < inSize/2 {
		// The head has to stay where it is while chunks pass behind it.
		x.in.room(inSize / 2)
		r.Reset()
		if _, err := http1.ParseRequest(x.in.buf[x.in.off:x.in.have], &x.set.head, r); err != nil {
			return c.refuse(err.(*http1.Error))
		}
	}
	if c.streams(x) {
		x.in.stream()
		c.openBody(x)
	} else {
		x.in.openBody(r, limit)
	}
	if x.set.rate != nil && !c.allowed(x) {
		x.denied = true
		if r.ContentLength != 0 { // it is not worth reading a body for
			x.identify(&c.ids)
			x.limited()
			return c.turnDown(x)
		}
	}
	if x.in.phase != inStream && r.Expect100 && r.ContentLength != 0 && x.in.have == x.in.off+x.in.head {
		return c.write(http1.Continue, nil, nil) == nil
	}
	return true
}

// streams says whether the handler has to read the connection to answer x. A body
// that is there already saves leaving raw.Read.
func (c *conn) streams(x *Exchange) bool {
	r := &x.Request
	if !c.srv.cfg.Streaming {
		return false
	}
	here := x.in.have - x.in.off - x.in.head
	return r.Chunked || r.ContentLength > int64(here) || x.asksUpgrade()
}

// bodyIn says whether x can be answered: its body is there, or its handler is to
// read it. Not ok means that the connection, or raw.Read at least, is to be left.
func (c *conn) bodyIn(x *Exchange) (ready, ok bool) {
	if x.in.phase == inStream {
		c.aside = c.fd >= 0
		return !c.aside, !c.aside
	}
	body, whole, err := x.in.body()
	if err != nil {
		return false, c.refuse(err.(*http1.Error))
	}
	if whole {
		x.Body = body
	}
	return whole, true
}

// exchange has a whole request answered. False means that the connection is to
// be closed.
func (c *conn) exchange(x *Exchange) bool {
	c.served = true
	x.identify(&c.ids)
	switch {
	case x.denied:
		x.limited()
	case !answerLocally(x):
		x.serve()
		c.accepted = c.accepted || !x.Unauthenticated
	}
	x.end()
	if x.in.phase == inStream || x.answer.begun {
		return c.conclude(x)
	}
	x.closing = c.closes(x)
	ok := c.reply(x)
	c.linger = x.closing && x.in.more()
	return ok && !x.closing
}

// closes says whether the connection is to end after the answer of x.
func (c *conn) closes(x *Exchange) bool {
	return x.Reply.Close || x.Request.Close || c.srv.draining.Load()
}

// reply renders and writes the answer and accounts for the exchange.
func (c *conn) reply(x *Exchange) bool {
	ok := c.send(x)
	sent := x.sent
	if !ok {
		sent = 0
	}
	x.account(x.in.size(), sent, time.Since(x.start))
	c.now = x.start.Sub(c.srv.epoch) + x.Record.Duration
	return ok
}

// send renders and writes the answer.
func (c *conn) send(x *Exchange) bool {
	x.holdBody()
	defer x.dropBody()
	body, after := x.render()
	var err error
	if x.Reply.Pages.Holds(body) && c.raw != nil && !c.secure {
		if err = c.give(x.out, body); err == nil && len(after) > 0 {
			err = c.write(after, nil, nil)
		}
	} else {
		err = c.write(x.out, body, after)
	}
	x.repay()
	if err != nil {
		c.srv.stats.unsent.Inc()
		return false
	}
	return true
}

// answerLocally answers what concerns the server itself and not the service.
func answerLocally(x *Exchange) bool {
	r := &x.Request
	if string(r.Method) != "OPTIONS" {
		return false
	}
	if string(r.Path) != "*" && string(r.Get("Max-Forwards")) != "0" {
		return false
	}
	x.Reply.Status = http.StatusOK
	x.Reply.Field("Allow", allow)
	x.Reply.Lines(localStatus)
	x.Record.Decision, x.Record.Reason = telemetry.Local, reasonOptions
	return true
}

const allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

// spread makes room on the stack for answering a request, in one step instead of some
// that each copy what is there. It does nothing with it.
//
//go:noinline
func spread(touch bool) byte {
	if !touch {
		return 0
	}
	var room [6 << 10]byte
	return room[len(os.Args)]
}
