package edge

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/http2"
	"github.com/kasoku/kasoku/internal/inflight"
)

// h2Stream is the stream of an exchange over HTTP/2. It is a part of its Exchange.
type h2Stream struct {
	x  *Exchange
	h  *h2Conn
	st *http2.Stream

	// These are set before the exchange is served.
	turn     uint64       // of the leader that serves it
	refused  *http1.Error // the request is not passed to the handler
	admitted bool         // counted in the budget
	head     int          // length of the request's head, as HTTP/1.1

	accepted bool // see Limits.UnauthenticatedIdle

	// For a body that is read before the request is served. They are guarded by h.mu, as is
	// everything below except the last group.
	collect bool
	until   time.Duration

	gone   bool // the client has reset the stream, or disconnected
	cancel context.CancelCauseFunc

	// The answer. pending waits in the queue of the connection to be sent, while queued is
	// set; last is set if it is the end. ready is made at the first wait.
	pending      []byte
	last, queued bool
	progress     int // bytes of it since the sender was woken
	ready        chan struct{}
	ended        bool // END_STREAM was sent
	delivery     delivery

	// The body that has arrived and was not read. readable is made at the first wait.
	body     []byte
	complete bool
	fields   http1.Fields // behind the body
	expects  bool         // the client waits for "100 Continue"
	woken    bool
	readable chan struct{}

	// These belong to the goroutine that holds the mutex of the incoming around the body,
	// except size after the end of the request.
	pace  pace
	limit int64
	size  atomic.Int64
}

// open makes the exchange of a request. mu is held.
func (h *h2Conn) open(e *http2.Event) *h2Stream {
	x := acquireExchange(h.c.srv, nil)
	x.start = time.Now()
	x.set = h.c.srv.set.Load()
	x.begin(h.c.Client, true)
	s := &x.stream
	*s = h2Stream{x: x, h: h, st: e.Stream}
	x.h2, e.Stream.Owner = s, s
	x.in.data = x.in.data[:0]
	h.admit(s)
	err := x.parseH2(e.Head, e.End)
	x.identify(&h.c.ids)
	switch limit := x.set.limits.BodyBytes; {
	case err != nil:
		s.refused = err
	case e.Head.Length > int64(limit):
		s.refused = http1.ErrTooLarge
	default:
		x.denied = !h.c.Allow(x.set.rates, x.start)
	}
	if !e.End && s.refused == nil && !x.denied {
		s.openBody(e.Head)
	}
	return s
}

// parseH2 writes the head of a request as HTTP/1.1 and parses it, so that a service has the
// same types, and the same requests are refused.
func (x *Exchange) parseH2(head *http2.Head, end bool) *http1.Error {
	if head.TooLarge {
		return &http1.Error{Status: http.StatusRequestHeaderFieldsTooLarge, Reason: "the header list is too large"}
	}
	in := &x.in
	in.buf = appendHead(in.buf[:0], head)
	n, err := http1.ParseRequest(in.buf, &x.set.head, &x.Request)
	if err != nil {
		return err.(*http1.Error)
	}
	if n == 0 {
		return &http1.Error{Status: http.StatusBadRequest, Reason: "head not whole"}
	}
	x.h2.head = n
	if !end {
		x.Request.ContentLength = head.Length
	}
	return nil
}

// appendHead appends the head of a request as HTTP/1.1. The pieces of Cookie are joined (RFC
// 9113, 8.2.3).
func appendHead(dst []byte, head *http2.Head) []byte {
	dst = append(append(dst, head.Method...), ' ')
	dst = append(dst, head.Path...)
	if len(head.Path) == 0 {
		dst = append(dst, head.Authority...) // of CONNECT, which is refused
	}
	dst = append(dst, " HTTP/1.1\r\nhost: "...)
	dst = append(append(dst, head.Authority...), crlf...)
	cookies := false
	for i := range head.Fields {
		switch f := &head.Fields[i]; string(f.Name) {
		case "host", "expect":
		case "cookie":
			cookies = true
		default:
			dst = append(append(dst, f.Name...), ": "...)
			dst = append(append(dst, f.Value...), crlf...)
		}
	}
	if cookies {
		dst = appendCookies(dst, head.Fields)
	}
	return append(dst, crlf...)
}

func appendCookies(dst []byte, fields http1.Fields) []byte {
	separator := "cookie: "
	for i := range fields {
		if f := &fields[i]; string(f.Name) == "cookie" {
			dst = append(append(dst, separator...), f.Value...)
			separator = "; "
		}
	}
	return append(dst, crlf...)
}

// openBody prepares for the body of a request. mu is held.
func (s *h2Stream) openBody(head *http2.Head) {
	x := s.x
	s.expects = head.Expect100
	if x.srv.cfg.Streaming {
		s.limit = int64(x.set.limits.BodyBytes)
		s.pace = newPace(x.set.limits.BodyTimeout)
		x.body = newIncoming(head.Length, s)
		return
	}
	s.collect, s.until = true, s.h.now+x.set.limits.BodyTimeout
	s.h.collecting = append(s.h.collecting, s)
	x.in.data = x.in.data[:0]
	x.in.length = x.set.limits.BodyBytes + 1
	s.sendContinue()
}

// isReady reports whether the request is to be served now. mu is held.
func (s *h2Stream) isReady() bool { return !s.collect }

// data takes a part of the body, and reports whether the request is to be served now. mu is
// held.
func (s *h2Stream) data(p []byte, end bool) bool {
	s.complete = s.complete || end
	switch {
	case s.collect:
		s.h.p.Consumed(s.st, len(p))
		return s.collected(p) || end && s.stopCollecting()
	case s.x.body == nil || s.x.body.over.Load():
		s.h.p.Consumed(s.st, len(p)) // not read any more
	default:
		s.body = append(s.body, p...)
		wake(s.readable)
	}
	return false
}

// collected adds p to a body that is read before the request is served, and reports whether
// the request is refused.
func (s *h2Stream) collected(p []byte) bool {
	in := &s.x.in
	if len(in.data)+len(p) >= in.length {
		s.refuse(http1.ErrTooLarge)
		return true
	}
	for cap(in.data)-len(in.data) < len(p) {
		in.growData()
	}
	if !s.x.countBody() {
		s.refuse(errNoMemory)
		return true
	}
	in.data = append(in.data, p...)
	return false
}

// stopCollecting makes the request ready.
func (s *h2Stream) stopCollecting() bool {
	if s.collect {
		s.collect = false
		i := slices.Index(s.h.collecting, s)
		s.h.collecting = slices.Delete(s.h.collecting, i, i+1)
	}
	s.x.Body = s.x.in.data
	s.x.Request.ContentLength = int64(len(s.x.Body))
	return true
}

// refuse makes a request ready that is not passed to the handler.
func (s *h2Stream) refuse(e *http1.Error) {
	s.stopCollecting()
	s.refused = e
}

// trailers takes the fields behind the body, and reports whether the request is to be served
// now. mu is held.
func (s *h2Stream) trailers(fields http1.Fields) bool {
	for i := range fields {
		if f := &fields[i]; http1.InTrailer(f.Name) {
			s.fields = append(s.fields, http1.Field{Name: bytes.Clone(f.Name), Value: bytes.Clone(f.Value)})
		}
	}
	return s.data(nil, true)
}

// reset ends the exchange of a stream that was closed by the client. mu is held.
func (s *h2Stream) reset() {
	s.gone = true
	s.dequeue()
	wake(s.readable)
	if s.cancel != nil {
		s.cancel(ErrClientGone)
	}
	if s.collect { // it was not served
		s.stopCollecting()
		s.release()
	}
}

// release ends a stream and its exchange. mu is held.
func (s *h2Stream) release() {
	h, st := s.h, s.st
	h.p.Reset(st, http2.InternalError) // if it is not closed
	h.p.Consumed(st, len(s.body))
	if s.admitted {
		h.c.srv.cfg.Budget.Add(-inflight.Stream)
	}
	h.streams--
	h.p.Release(st)
	s.x.release()
}

// watchCancel arranges for cancel to be called when the client resets the stream or
// disconnects.
func (s *h2Stream) watchCancel(cancel context.CancelCauseFunc) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	if s.cancel = cancel; s.gone {
		cancel(ErrClientGone)
	}
}

// serveH2 serves a request over HTTP/2.
func (x *Exchange) serveH2() {
	s := x.h2
	switch {
	case s.refused != nil:
		x.refusal(s.refused)
	case !s.admitted && !s.awaitMemory():
		x.refuseNoMemory()
	case x.denied:
		x.limited()
	case !answerLocally(x):
		x.serve()
		s.accepted = !x.Unauthenticated
	}
	x.end()
	received, whole := x.concludeH2()
	x.account(s.head+received, x.sent, time.Since(x.start))
	if !whole {
		x.srv.stats.unsent.Inc()
	}
}

// concludeH2 sends what is left of the answer after the handler has returned. It returns the
// bytes of the request's body, and whether all of the answer was sent; otherwise the stream
// will be reset.
func (x *Exchange) concludeH2() (received int, whole bool) {
	received = len(x.in.data)
	if x.body != nil {
		x.body.finish()
		received = int(x.h2.size.Load())
	}
	defer x.returnLoan()
	if x.answer.begun {
		return received, x.answer.whole()
	}
	if x.body != nil {
		if e := x.body.refusal(); e != nil {
			x.refusal(e)
		}
	}
	return received, x.h2.reply() == nil
}

// wake wakes the goroutine that waits for c, which may be nil.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
