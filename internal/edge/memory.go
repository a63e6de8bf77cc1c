package edge

import (
	"net/http"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// maxUncounted is the maximum length of bodies that the budget doesn't count.
const maxUncounted = 64 << 10

var errNoMemory = &http1.Error{Status: http.StatusServiceUnavailable, Reason: "no memory for the request's body"}

// memoryShort reports whether memory is short, so that buffers are to be small.
func (x *Exchange) memoryShort() bool { return x.srv.cfg.Budget.Pressed() }

// countBody counts the memory of the request's body, and reports false if there is no more
// for it.
func (x *Exchange) countBody() bool {
	n := cap(x.in.data)
	if n <= maxUncounted || n <= x.in.counted {
		return true
	}
	if !x.srv.cfg.Budget.Take(int64(n - x.in.counted)) {
		return false
	}
	x.in.counted = n
	return true
}

// uncountBody reverses countBody.
func (x *Exchange) uncountBody() {
	if n := x.in.counted; n > 0 {
		x.in.counted = 0
		x.srv.cfg.Budget.Add(-int64(n))
	}
}

// countReply counts the body of an answer that is in memory of the exchange's own.
func (x *Exchange) countReply() {
	if n := len(x.Reply.Body); n > maxUncounted && x.Reply.Loan == nil {
		x.held = n
		x.srv.cfg.Budget.Add(int64(n))
	}
}

// uncountReply reverses countReply.
func (x *Exchange) uncountReply() {
	if n := x.held; n > 0 {
		x.held = 0
		x.srv.cfg.Budget.Add(-int64(n))
	}
}

// refuseNoMemory refuses a request for lack of memory. The answer has no body, which the
// client could leave unread.
func (x *Exchange) refuseNoMemory() {
	x.Reply.Status = http.StatusServiceUnavailable
	x.Reply.FieldUint("Retry-After", 1)
	x.Reply.Lines(localStatus)
	x.Record.Decision = telemetry.Local
}

// freeStreams is how many streams a connection may have without waiting for memory, so that
// clients with few requests get stored answers while others hold all memory.
const freeStreams = 4

// admit counts a stream. If there are many on the connection and no memory is left, its
// exchange has to wait for some. mu is held.
func (h *h2Conn) admit(s *h2Stream) {
	b := h.c.srv.cfg.Budget
	if h.streams++; h.streams > freeStreams {
		s.admitted = b.Take(inflight.Stream)
		return
	}
	b.Add(inflight.Stream)
	s.admitted = true
}

// awaitMemory waits for memory for a stream that was not admitted, and reports false if there
// is none.
func (s *h2Stream) awaitMemory() bool {
	s.admitted = s.x.srv.cfg.Budget.Await(s.x.Context(), inflight.Stream)
	return s.admitted
}
