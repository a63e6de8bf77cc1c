package edge

import (
	"net/http"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/http2"
	"github.com/kasoku/kasoku/internal/socket"
)

// h2Grace is how long a client may take to close its connection after a GOAWAY, or to confirm
// the first GOAWAY of a server that stops.
const h2Grace = time.Second

// due returns the time at which the leader has something to do even if it receives nothing,
// or 0. mu is held.
func (h *h2Conn) due() (due time.Duration) {
	earliest := func(at time.Duration) {
		if due == 0 || at < due {
			due = at
		}
	}
	l := &h.c.srv.set.Load().limits
	if h.partial {
		earliest(h.slow + l.HeaderTimeout)
	}
	for _, s := range h.collecting {
		earliest(s.until)
	}
	switch {
	case h.closeAt > 0:
		earliest(h.closeAt)
	case h.running == 0 && h.p.Streams() == 0:
		earliest(h.since + h.idleTimeout())
	}
	if h.drainAt > 0 && !h.p.Refusing() {
		earliest(h.drainAt)
	}
	return due
}

// idleTimeout returns how long the connection may be without a request.
func (h *h2Conn) idleTimeout() time.Duration {
	l := &h.c.srv.set.Load().limits
	if h.accepted {
		return l.IdleTimeout
	}
	return min(l.IdleTimeout, l.UnauthenticatedIdle)
}

// arm sets the read deadline, unless one is set that is not too late: so it is rarely set
// again. mu is held.
func (h *h2Conn) arm() {
	due := h.due()
	switch {
	case h.armed > 0 && (due == 0 || due >= h.armed):
		return
	case due > 0:
		_ = h.c.Sock.SetReadDeadline(h.c.srv.epoch.Add(due))
	case h.armed != 0:
		_ = h.c.Sock.SetReadDeadline(time.Time{})
	}
	h.armed = due
}

// wakeLeader makes the leader's read return. mu is held.
func (h *h2Conn) wakeLeader() {
	h.armed = -1
	_ = h.c.Sock.SetReadDeadline(socket.Past)
}

// over reports whether the connection is to be closed: it is drained. mu is held.
func (h *h2Conn) over() bool {
	return h.err != nil || h.p.Refusing() && h.closeAt == 0 && h.running == 0 && h.p.Streams() == 0 && len(h.p.Out) == 0 && !h.writing
}

// expired handles the times that have passed when the read deadline has. The leader calls it.
// It returns false if another goroutine leads.
func (h *h2Conn) expired() bool {
	h.lock()
	h.now = time.Since(h.c.srv.epoch)
	if h.armed <= h.now {
		h.armed = -1 // arm sets another one
	}
	l := &h.c.srv.set.Load().limits
	switch idle := h.running == 0 && h.p.Streams() == 0; {
	case h.over(), h.c.srv.hard.Err() != nil, h.closeAt > 0 && h.now >= h.closeAt:
		h.ending = true
	case h.partial && h.now >= h.slow+l.HeaderTimeout:
		h.c.srv.stats.h2Slow.Inc()
		h.fail(http2.ProtocolError)
	case idle && h.closeAt == 0 && h.now >= h.since+h.idleTimeout():
		if !h.accepted {
			h.c.srv.stats.unauthenticated.Inc()
		}
		h.p.GoAway(http2.NoError)
		h.closeAt = h.now + h2Grace
	case h.drainAt > 0 && h.now >= h.drainAt && !h.p.Refusing():
		h.p.GoAway(http2.NoError)
	}
	return h.expireBodies()
}

// expireBodies answers requests whose bodies take too long. It is called with mu held, and
// releases it.
func (h *h2Conn) expireBodies() bool {
	for _, s := range h.collecting {
		if h.now < s.until {
			continue
		}
		s.refuse(&http1.Error{Status: http.StatusRequestTimeout, Reason: "request took too long to arrive"})
		if !h.serve(s) {
			return false
		}
		break // the others are found in the next round
	}
	h.mu.Unlock()
	return true
}

// drain lets the requests in flight finish, and then ends the connection.
func (h *h2Conn) drain() {
	h.lock()
	defer h.mu.Unlock()
	if h.closed || h.drainAt > 0 {
		return
	}
	h.startDrain()
	h.flushAside()
	h.wakeLeader()
}

// startDrain announces the end of the connection. mu is held.
func (h *h2Conn) startDrain() {
	h.p.Drain()
	h.drainAt = time.Since(h.c.srv.epoch) + h2Grace
}
