package edge

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/http2"
)

// errStreamReset is returned when the client has reset the stream, or disconnected.
var errStreamReset = errors.New("edge: the stream was reset")

// errHangup is returned when the handler wants no answer to be sent.
var errHangup = errors.New("edge: the handler ended the stream without an answer")

// reply sends the answer in x.Reply.
func (s *h2Stream) reply() error {
	x, h := s.x, s.h
	r := &x.Reply
	if r.Hangup {
		return errHangup
	}
	x.countReply()
	defer x.uncountReply()
	r.fixStatus()
	parts := [...][]byte{r.Before, r.Body, r.After}
	left := len(r.Before) + len(r.Body) + len(r.After)
	if !http1.BodyAllowed(r.Status) || x.isHead() {
		left = 0
	}
	h.lock()
	defer h.mu.Unlock()
	s.appendHead(x.replyLength(), left == 0)
	if left == 0 {
		return s.failure()
	}
	for _, part := range parts {
		if left -= len(part); len(part) > 0 {
			if err := s.send(part, left == 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// failure returns the reason for which nothing more can be sent. mu is held.
func (s *h2Stream) failure() error {
	if s.gone {
		return errStreamReset
	}
	return s.h.err
}

// appendHead appends the head of the answer. mu is held.
func (s *h2Stream) appendHead(length int64, end bool) {
	x, h := s.x, s.h
	r := &x.Reply
	if !r.OwnDate {
		r.lines = x.srv.date.Append(r.lines, x.start)
	}
	b := appendLines(http2.AppendStatus(h.head[:0], r.Status), r.lines)
	b = http2.AppendField(b, requestIDName, x.Record.RequestID)
	if length >= 0 {
		var digits [20]byte
		b = http2.AppendField(b, contentLengthName, strconv.AppendInt(digits[:0], length, 10))
	}
	h.head = b
	h.p.Headers(s.st, b, end)
	x.sent += len(b)
	s.ended = end
	if r.Close && h.drainAt == 0 {
		h.startDrain()
		h.wakeLeader()
	}
}

var requestIDName, contentLengthName = []byte("x-request-id"), []byte("content-length")

// appendLines appends header lines to a header block, except fields of HTTP/1.1 connections.
func appendLines(b, lines []byte) []byte {
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n')
		if end < 0 {
			end = len(lines)
		}
		line := lines[:end]
		lines = lines[min(end+1, len(lines)):]
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 {
			continue
		}
		if name := line[:colon]; !ofConnection(name) {
			b = http2.AppendField(b, name, ascii.Trim(bytes.TrimSuffix(line[colon+1:], crlf[:1])))
		}
	}
	return b
}

// ofConnection reports whether a field describes a connection of HTTP/1.1, and must not be
// sent.
func ofConnection(name []byte) bool {
	switch len(name) {
	case len("upgrade"), len("connection"), len("proxy-connection"), len("transfer-encoding"):
		return ascii.EqualFold(name, "connection") || ascii.EqualFold(name, "keep-alive") || ascii.EqualFold(name, "upgrade") ||
			ascii.EqualFold(name, "transfer-encoding") || ascii.EqualFold(name, "proxy-connection")
	}
	return false
}

// send sends p, and waits where the client's windows or the connection are full. mu is held,
// but not while it waits.
func (s *h2Stream) send(p []byte, end bool) error {
	h := s.h
	for {
		if err := s.failure(); err != nil {
			return err
		}
		if len(h.queue) == 0 {
			n := h.append(s, p, end)
			s.x.sent += n
			if p = p[n:]; len(p) == 0 {
				s.ended = end
				return nil
			}
			if !h.writing && h.p.Sendable(s.st) > 0 {
				h.writeOnce()
				continue
			}
		}
		err := s.wait(p, end)
		s.ended = end && err == nil
		return err
	}
}

// wait waits until p was appended to Out. It gives up a client that does not accept tlsPiece
// bytes, or the rest, in the write timeout, or that reads too slowly on average. mu is held, but
// not while it waits.
func (s *h2Stream) wait(p []byte, end bool) error {
	h, x := s.h, s.x
	if s.ready == nil {
		s.ready = make(chan struct{}, 1)
	}
	s.pending, s.last, s.queued, s.progress = p, end, true, 0
	h.queue = append(h.queue, s)
	h.mu.Unlock()
	h.yield(s.turn)
	limit := x.set.limits.WriteTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	h.lock()
	h.flush()
	for late := false; ; {
		began := time.Now()
		s.delivery.begin(began.Sub(x.srv.epoch))
		h.mu.Unlock()
		select {
		case <-s.ready:
		case <-timer.C:
			late = true
		}
		h.lock()
		now, taken := time.Now(), s.progress
		s.progress = 0
		x.sent += taken
		s.delivery.end(now.Sub(x.srv.epoch), 0)
		err := s.waitResult(late && taken < tlsPiece)
		if err == nil && !x.keepsPace(taken, now.Sub(began), limit) {
			err = errSlowClient
		}
		if err != nil || !s.queued {
			s.dequeue()
			s.pending = nil
			return err
		}
		late = false
		timer.Reset(limit)
	}
}

// waitResult returns the reason for which a stream no longer waits to send, or nil if it
// still does or all was sent. mu is held.
func (s *h2Stream) waitResult(late bool) error {
	switch {
	case s.delivery.cut.Load():
		return errSlowClient
	case s.gone:
		return errStreamReset
	case s.queued && late:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// advance removes n bytes that were appended from pending. mu is held.
func (s *h2Stream) advance(n int) {
	s.pending = s.pending[n:]
	s.delivery.taken.Add(int64(n))
	if s.progress += n; s.progress >= tlsPiece {
		wake(s.ready)
	}
}

// dequeue ends the wait of a stream that waits to send. mu is held.
func (s *h2Stream) dequeue() {
	if s.queued {
		i := slices.Index(s.h.queue, s)
		s.h.queue = slices.Delete(s.h.queue, i, i+1)
		s.wakeSender()
	}
}

// wakeSender wakes a stream that was removed from the queue. mu is held.
func (s *h2Stream) wakeSender() {
	s.queued = false
	wake(s.ready)
}

// cutSlow resets the stream if it waits for its client.
func (s *h2Stream) cutSlow() {
	s.h.lock()
	defer s.h.mu.Unlock()
	if s.queued {
		s.delivery.cut.Store(true)
		s.dequeue()
	}
}

// begin implements answerer.
func (s *h2Stream) begin(o *Outgoing, length int64, first []byte) error {
	h := s.h
	h.lock()
	defer h.mu.Unlock()
	end := o.bodiless || length == 0 && s.st.Ended()
	s.appendHead(length, end)
	if !end && len(first) > 0 {
		return s.sendNow(first, o.left == 0 && s.st.Ended())
	}
	return s.sendNow(nil, false)
}

// sendNow sends p, if there is any, and what was appended before. The leader does the latter
// later. mu is held, but not while it waits.
func (s *h2Stream) sendNow(p []byte, end bool) error {
	if len(p) > 0 || end {
		if err := s.send(p, end); err != nil {
			return err
		}
	}
	if !s.h.leads(s.turn) {
		s.h.flush()
	}
	return s.failure()
}

func (s *h2Stream) piece(o *Outgoing, p []byte) error {
	s.h.lock()
	defer s.h.mu.Unlock()
	return s.sendNow(p, o.left == int64(len(p)) && s.st.Ended())
}

func (s *h2Stream) end(o *Outgoing) error {
	h := s.h
	h.lock()
	defer h.mu.Unlock()
	if s.ended {
		return nil
	}
	if len(o.fields) == 0 {
		return s.sendNow(nil, true)
	}
	b := h.head[:0]
	for i := range o.fields {
		if f := &o.fields[i]; http1.ValidValue(f.Value) {
			b = http2.AppendField(b, f.Name, f.Value)
		}
	}
	h.head = b
	h.p.Headers(s.st, b, true)
	s.ended = true
	return s.sendNow(nil, false)
}

func (s *h2Stream) interim(x *Exchange, status int, fields http1.Fields) error {
	h := s.h
	h.lock()
	defer h.mu.Unlock()
	if status == http.StatusContinue {
		s.sendContinue()
	} else {
		h.appendInterim(s, status, fields)
	}
	return s.sendNow(nil, false)
}

// appendInterim appends an answer before the final one. mu is held.
func (h *h2Conn) appendInterim(s *h2Stream, status int, fields http1.Fields) {
	b := http2.AppendStatus(h.head[:0], status)
	for i := range fields {
		if f := &fields[i]; ascii.IsToken(f.Name) && http1.ValidValue(f.Value) && !ofConnection(f.Name) {
			b = http2.AppendField(b, f.Name, f.Value)
		}
	}
	h.head = b
	h.p.Headers(s.st, b, false)
}
