package listener

import (
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/socket"
)

// The states of a connection. They let other goroutines stop it.
const (
	active   uint32 = iota // serves a request, or is about to read one
	idle                   // waits for a request
	kicked                 // was idle and is to be closed
	detached               // its deadlines are set by others: it speaks another protocol
)

// Protocol is the part of a connection that depends on the protocol spoken on it. Its
// methods are called by the goroutine that serves the connection, which is closed after one
// of them has returned false.
type Protocol interface {
	// Serve runs the connection from its first byte to its end: it calls Conn.ReadLoop and,
	// in the end, Conn.Forget.
	Serve()
	// Buffer returns the memory for the next bytes, which is not empty. A connection that
	// has no buffer takes one from a pool.
	Buffer() []byte
	// Buffered reports whether the connection has a buffer.
	Buffered() bool
	// First puts the first byte of a request into the buffer, which more are read into.
	First(b byte)
	// Received handles n more bytes in the buffer.
	Received(n int) bool
	// Rest prepares for waiting: it sets the deadline, releases the buffer of an idle
	// connection and calls SetIdle.
	Rest() bool
	// Failed handles an error of reading, and reports whether to go on reading.
	Failed(err error) bool
	// Resume continues a request for which Received has set Aside.
	Resume() bool
}

// Conn is the part of a Server's connection that does not depend on the protocol. It belongs to
// the goroutine that serves it, except for its state, which Kick changes from idle to kicked,
// and the deadlines of Sock, which others move into the past to wake that goroutine.
//
// An idle connection has no memory except its goroutine's: it waits for a plain socket without a
// buffer, and otherwise reads a single byte.
type Conn struct {
	Sock   net.Conn        // the socket; other goroutines may use it
	NC     net.Conn        // the same, or TLS over it
	Raw    syscall.RawConn // of the socket; nil where there is none
	Client netip.AddrPort  // zero for Unix sockets

	// Armed is the read deadline that is set, counted from the server's epoch; 0: none.
	Armed time.Duration

	// FD is the socket while the goroutine is inside Raw.Read, -1 otherwise.
	FD int32

	Secure bool // TLS is spoken
	Drain  bool // read until nothing is left before waiting
	Served bool // a request was answered
	Unsure bool // the end of the stream may have arrived with the last read
	Aside  bool // leave Raw.Read and call Resume, for a request that reads the connection

	counted bool    // for its client
	first   [1]byte // of a request, where idling needs a byte to read into
	state   atomic.Uint32

	server   *Server
	protocol Protocol
	rates    Rates         // that limiter is of
	limiter  *rate.Limiter // of the client, looked up once for each Rates
}

// Init prepares c for a connection that s has accepted.
func (c *Conn) Init(s *Server, p Protocol, nc net.Conn) {
	c.server, c.protocol, c.Sock, c.NC, c.Raw, c.FD, c.Drain = s, p, nc, nc, socket.Raw(nc), -1, true
	c.Client = AddrPort(nc.RemoteAddr())
}

// AddrPort returns a TCP address, or the zero AddrPort for another one.
func AddrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Protocol returns the p of Init.
func (c *Conn) Protocol() Protocol { return c.protocol }

// CountClient counts the connection for its client, and reports false if the client has too
// many.
func (c *Conn) CountClient() bool {
	s := c.server
	if _, limit := s.cfg.Limits(); !s.clients.Add(c.Client.Addr(), limit) {
		s.cfg.PerClient.Inc()
		return false
	}
	c.counted = true
	return true
}

// uncountClient reverses CountClient. Client has not changed since.
func (c *Conn) uncountClient() {
	if c.counted {
		c.counted = false
		c.server.clients.Remove(c.Client.Addr())
	}
}

// Allow reports whether the client may make another request under r. Clients without an
// address, for example of Unix sockets, have no limit.
func (c *Conn) Allow(r Rates, now time.Time) bool {
	if r.table == nil || !c.Client.IsValid() {
		return true
	}
	if c.rates != r {
		c.rates, c.limiter = r, r.table.of(c.Client.Addr(), now)
	}
	return c.limiter.AllowN(now, 1)
}

// Forget removes a closed connection from its server.
func (c *Conn) Forget() {
	s := c.server
	c.uncountClient()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.open.Done()
}

// Handshake makes the connection a TLS one. It fails after timeout.
//
// In TLS 1.3 crypto/tls writes nothing after the client's last message, so that no answer
// carries the acknowledgement of it. It is sent at once: a client with Nagle's algorithm
// holds the first request back until it has arrived.
func (c *Conn) Handshake(cfg *tls.Config, timeout time.Duration) (*tls.Conn, error) {
	growStack()
	tc := tls.Server(c.NC, cfg)
	_ = c.Sock.SetDeadline(time.Now().Add(timeout))
	c.NC, c.Secure = tc, true
	// Instead of a context, whose lock all handshakes would share, cut ends it, by a deadline
	// that is set after hard was cancelled. If it was before the one above, hard shows that.
	err := c.server.hard.Err()
	if err == nil {
		err = tc.Handshake()
	}
	if err == nil {
		_ = c.Sock.SetDeadline(time.Time{})
		if c.Raw != nil {
			socket.Acknowledge(c.Raw)
		}
	}
	return tc, err
}

// handshakeStack is more than most handshakes need: the stack for them has 16 KiB. The
// garbage collector shrinks it afterwards.
const handshakeStack = 9 << 10

// growStack grows the stack in one step instead of several, each of which copies it.
//
//go:noinline
func growStack() byte {
	var room [handshakeStack]byte
	return room[len(os.Args)]
}

// ReadLoop reads the connection and lets the protocol handle the bytes, until one of
// them ends it.
func (c *Conn) ReadLoop() {
	if !c.protocol.Rest() {
		return
	}
	if c.Raw != nil && !c.Secure {
		c.readRaw()
	} else {
		c.readStream()
	}
}

// readRaw waits for bytes without holding a buffer for them.
func (c *Conn) readRaw() {
	readable := c.readable
	for {
		err := c.Raw.Read(readable)
		c.FD = -1
		switch {
		case c.Aside:
			if c.Aside = false; !c.protocol.Resume() {
				return
			}
		case err == nil || !c.protocol.Failed(err):
			return
		}
		if !c.protocol.Rest() {
			return
		}
		c.Drain = true // readiness that was noted before is lost by calling Raw.Read again
	}
}

// readable is called by Raw.Read at first and whenever there may be bytes, and returns true
// to end it. Requests are served in here, except those whose handlers read the connection: as
// long as Raw.Read has not returned, a notice of new bytes is kept from one wait to the next,
// so that a read which did not fill its buffer need not be followed by another that returns
// EAGAIN. Only where Drain is set reads are repeated, for example up to the first answer: the
// end of the stream may have arrived with them, and it is not notified twice.
func (c *Conn) readable(fd uintptr) bool {
	c.FD = int32(fd)
	for {
		space := c.protocol.Buffer()
		n, err := socket.Read(int(c.FD), space)
		if err == syscall.EAGAIN {
			c.Drain, c.Unsure = !c.Served, false
			return !c.protocol.Rest()
		}
		if n <= 0 || !c.protocol.Received(n) {
			return true
		}
		if n < len(space) && !c.Drain {
			c.Unsure = true
			return !c.protocol.Rest()
		}
	}
}

// readStream is readRaw for connections that are not plain sockets. While idle it reads into
// a single byte, and the following bytes into a buffer.
func (c *Conn) readStream() {
	for {
		begun, n, err := false, 0, error(nil)
		if !c.protocol.Buffered() {
			if n, err = c.NC.Read(c.first[:]); n == 1 {
				begun = true
				c.protocol.First(c.first[0])
				n, err = c.NC.Read(c.protocol.Buffer())
			}
		} else {
			n, err = c.NC.Read(c.protocol.Buffer())
		}
		// A first byte is handled even if no byte follows.
		if (n > 0 || begun) && !c.protocol.Received(n) {
			return
		}
		if err != nil && !c.protocol.Failed(err) || !c.protocol.Rest() {
			return
		}
	}
}

// Arm sets the read deadline, counted from the server's epoch.
func (c *Conn) Arm(at time.Duration) {
	c.Armed = at
	_ = c.Sock.SetReadDeadline(c.server.epoch.Add(at))
}

// SetIdle makes an active connection idle, so that CloseIdle closes it, and reports whether
// it was active.
func (c *Conn) SetIdle() bool { return c.state.CompareAndSwap(active, idle) }

// SetActive makes an idle connection active, and reports whether it was idle.
func (c *Conn) SetActive() bool { return c.state.CompareAndSwap(idle, active) }

// Unkick makes the connection active, also one that CloseIdle is closing.
func (c *Conn) Unkick() { c.state.Store(active) }

// Kicked reports whether CloseIdle is closing the connection.
func (c *Conn) Kicked() bool { return c.state.Load() == kicked }

// Detach gives the deadlines of the connection to another protocol. In the end it is closed
// instead of woken.
func (c *Conn) Detach() { c.state.Store(detached) }

// Kick closes the connection if it is idle, unless a request arrives within grace.
func (c *Conn) Kick(grace time.Duration) {
	if !c.state.CompareAndSwap(idle, kicked) {
		return
	}
	at := socket.Past
	if grace > 0 {
		at = time.Now().Add(grace)
	}
	_ = c.Sock.SetReadDeadline(at)
}

// cut wakes the goroutine from whatever it waits for on the socket. The context Hard, which
// was cancelled before, ends the connection.
func (c *Conn) cut() {
	if c.state.Load() == detached {
		_ = c.Sock.Close()
		return
	}
	_ = c.Sock.SetDeadline(socket.Past)
}

// lingerTime is how long a client whose connection is being closed may still send.
const lingerTime = 2 * time.Second

// Linger reads the bytes that the client still sends, into buf, before a connection with unread
// requests is closed, see discard. It returns at once if the server stops.
func (c *Conn) Linger(buf []byte) {
	c.SetIdle()
	_ = c.Sock.SetReadDeadline(time.Now().Add(lingerTime))
	if !c.server.Stopping() {
		discard(c.NC, buf)
	}
}

// Abort closes the connection without TLS's close_notify; with reset, plain TCP is reset.
func (c *Conn) Abort(reset bool) {
	if tcp, ok := c.Sock.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Sock.Close()
}
