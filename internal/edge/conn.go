package edge

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// conn is one connection.
type conn struct {
	listener.Conn
	srv *Server
	x   *Exchange // nil while idle

	// armedWrite is the write deadline that is set, and now the last reading of the clock,
	// both counted from the server's epoch.
	armedWrite, now time.Duration
	waits           time.Duration // since when it waits for the client to read more

	ids      listener.RequestIDs
	lasting  scopes       // of the exchanges
	zeroCopy zeroCopySend // being sent without copying
	delivery delivery

	accepted bool // a request was, see Limits.UnauthenticatedIdle
	linger   bool // the client may still be sending: Linger before closing
	broken   bool // the client must see that its answer is not whole
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, ids: listener.NewRequestIDs()}
	c.Init(s.conns, c, nc)
	return c
}

// Serve implements listener.Protocol.
func (c *conn) Serve() {
	if c.srv.cfg.ProxyProtocol {
		if !c.readProxy() {
			c.close()
			return
		}
		if !c.CountClient() {
			c.srv.refuseConn(c.NC)
			c.Forget()
			return
		}
	}
	if c.srv.cfg.TLS != nil {
		tc, err := c.Handshake(c.srv.cfg.TLS, c.srv.set.Load().limits.HeaderTimeout)
		if err != nil {
			c.srv.stats.handshakes.Inc()
			c.close()
			return
		}
		switch tc.ConnectionState().NegotiatedProtocol {
		case "h2":
			c.speakH2()
			return
		case ChallengeProtocol: // the handshake was all
			c.close()
			return
		}
	}
	c.now = time.Since(c.srv.epoch)
	c.Arm(c.now + c.idleTimeout())
	c.ReadLoop()
	c.close()
}

// Buffer implements listener.Protocol.
func (c *conn) Buffer() []byte {
	if c.FD >= 0 && !c.Served {
		growStack(false)
	}
	return c.currentExchange().in.space()
}

// Buffered implements listener.Protocol.
func (c *conn) Buffered() bool { return c.x != nil }

// First implements listener.Protocol.
func (c *conn) First(b byte) {
	x := c.currentExchange()
	c.start(x)
	x.in.buf[0], x.in.have = b, 1
}

// Resume implements listener.Protocol.
func (c *conn) Resume() bool { return c.proceed(c.x) }

// currentExchange returns the exchange of the request that has begun, or a new one.
func (c *conn) currentExchange() *Exchange {
	if c.x == nil {
		c.x = acquireExchange(c.srv, c)
	}
	return c.x
}

// Rest implements listener.Protocol.
func (c *conn) Rest() bool {
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
	if left := c.Armed - c.now; left < idle/2 || left > idle {
		c.Arm(c.now + idle)
	}
	c.SetIdle()
	return !c.srv.conns.Closing()
}

// idleTimeout returns how long the connection may be without a request.
func (c *conn) idleTimeout() time.Duration {
	l := &c.srv.set.Load().limits
	if c.accepted {
		return l.IdleTimeout
	}
	return min(l.IdleTimeout, l.UnauthenticatedIdle)
}

// armPhase sets the deadline of an incomplete head or body. It counts from the beginning of
// the phase: bytes that trickle in don't extend it.
func (c *conn) armPhase(x *Exchange) {
	x.in.armed = true
	if x.in.phase == inHead {
		c.Arm(x.start.Sub(c.srv.epoch) + x.set.limits.HeaderTimeout)
		return
	}
	c.Arm(time.Since(c.srv.epoch) + x.set.limits.BodyTimeout)
}

// Failed implements listener.Protocol. A client whose request is too slow gets an answer.
func (c *conn) Failed(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.Kicked() {
		return false
	}
	if time.Since(c.srv.epoch) < c.Armed {
		return c.srv.hard.Err() == nil // an older deadline, moved too late
	}
	if c.x != nil && c.x.in.partial() {
		c.refuse(&http1.Error{Status: http.StatusRequestTimeout, Reason: "request took too long to arrive"})
	} else if !c.accepted {
		c.srv.stats.unauthenticated.Inc()
	}
	return false
}

// Received implements listener.Protocol.
func (c *conn) Received(n int) bool {
	x := c.x
	if !x.in.partial() {
		c.start(x)
	}
	x.in.advance(n)
	if !x.countBody() {
		return c.refuse(errNoMemory)
	}
	return c.proceed(x)
}

// start begins a message.
func (c *conn) start(x *Exchange) {
	c.SetActive()
	x.start = time.Now()
	c.now = x.start.Sub(c.srv.epoch)
	c.srv.sysmon.Wake(c.now)
	x.set = c.srv.set.Load()
	x.begin(c.Client, c.Secure)
	c.delivery.reset()
}

// proceed handles the requests that are complete.
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
			if !c.headComplete(x) {
				return false
			}
		}
		if ready, ok := c.bodyReady(x); !ready {
			return ok
		}
		if !c.exchange(x) {
			return false
		}
		x.in.next()
		if !x.in.partial() {
			return true
		}
		c.Drain = true
		c.start(x)
	}
}

// headComplete checks a head that has just become complete, and prepares for the body.
func (c *conn) headComplete(x *Exchange) bool {
	r := &x.Request
	limit := x.set.limits.BodyBytes
	if r.ContentLength > int64(limit) {
		return c.refuse(http1.ErrTooLarge)
	}
	if r.Chunked && len(x.in.buf)-x.in.have < inSize/2 {
		// The head must not move while chunks are decoded behind it.
		x.in.room(inSize / 2)
		r.Reset()
		if _, err := http1.ParseRequest(x.in.buf[x.in.off:x.in.have], &x.set.head, r); err != nil {
			return c.refuse(err.(*http1.Error))
		}
	}
	if c.needsStream(x) {
		x.in.stream()
		c.openBody(x)
	} else {
		x.in.openBody(r, limit)
	}
	if !c.Allow(x.set.rates, x.start) {
		x.denied = true
		if r.ContentLength != 0 { // don't read the body of a refused request
			x.identify(&c.ids)
			x.limited()
			return c.sendRefusal(x)
		}
	}
	if x.in.phase != inStream && r.Expect100 && r.ContentLength != 0 && x.in.have == x.in.off+x.in.head {
		return c.write(http1.Continue, nil, nil) == nil
	}
	return true
}

// needsStream reports whether the handler has to read the connection to answer x. If the
// body has already arrived, Raw.Read need not be left.
func (c *conn) needsStream(x *Exchange) bool {
	r := &x.Request
	if !c.srv.cfg.Streaming {
		return false
	}
	here := x.in.have - x.in.off - x.in.head
	return r.Chunked || r.ContentLength > int64(here) || x.wantsUpgrade()
}

// bodyReady reports whether x can be answered: its body is complete, or its handler reads
// it. If ok is false, the connection, or at least Raw.Read, is to be left.
func (c *conn) bodyReady(x *Exchange) (ready, ok bool) {
	if x.in.phase == inStream {
		c.Aside = c.FD >= 0
		return !c.Aside, !c.Aside
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

// exchange answers a complete request. It returns false if the connection is to be closed.
func (c *conn) exchange(x *Exchange) bool {
	c.Served = true
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
		return c.finishStream(x)
	}
	if x.Reply.Hangup {
		return c.hangUp(x)
	}
	x.closing = c.willClose(x)
	ok := c.reply(x)
	c.linger = x.closing && x.in.hasMore()
	return ok && !x.closing
}

// hangUp ends the exchange without an answer. It returns false: the connection is to be closed.
func (c *conn) hangUp(x *Exchange) bool {
	c.broken, x.closing = true, true
	x.returnLoan()
	x.account(x.in.size(), 0, time.Since(x.start))
	c.now = x.start.Sub(c.srv.epoch) + x.Record.Duration
	c.srv.stats.unsent.Inc()
	return false
}

// willClose reports whether the connection ends after the answer of x.
func (c *conn) willClose(x *Exchange) bool {
	return x.Reply.Close || x.Request.Close || c.srv.conns.Stopping()
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
	x.countReply()
	defer x.uncountReply()
	body, after := x.render()
	var err error
	if x.Reply.Pages.Holds(body) && c.Raw != nil && !c.Secure {
		if err = c.sendZeroCopy(x.out, body); err == nil && len(after) > 0 {
			err = c.write(after, nil, nil)
		}
	} else {
		err = c.write(x.out, body, after)
	}
	x.returnLoan()
	if err != nil {
		c.srv.stats.unsent.Inc()
		return false
	}
	return true
}

// answerLocally answers requests about the server itself instead of the service.
func answerLocally(x *Exchange) bool {
	r := &x.Request
	if bytes.HasPrefix(r.Path, challengePath) {
		return x.answerChallenge()
	}
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

// growStack grows the stack for answering a request, in one step instead of several that each
// copy it. It does nothing else.
//
//go:noinline
func growStack(touch bool) byte {
	if !touch {
		return 0
	}
	var room [6 << 10]byte
	return room[len(os.Args)]
}
