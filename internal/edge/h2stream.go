package edge

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
)

// h2Stream carries one HTTP/2 request and its answer.
type h2Stream struct {
	w  http.ResponseWriter
	r  *http.Request
	rc *http.ResponseController
	// The deadlines of HTTP/2 streams run even when no goroutine waits, so our own timers
	// move them into the past once a goroutine has waited too long.
	reading, writing timeout
	woken            atomic.Bool

	delivery delivery
	taken    int        // bytes of the answer
	mu       sync.Mutex // a leaf; guards ended, and is held to set a deadline from another goroutine
	ended    bool

	// Of the body; they belong to the goroutine that holds the mutex of the incoming around
	// it.
	pace  pace
	limit int64
	size  int64
}

func newH2Stream(x *Exchange, w http.ResponseWriter, r *http.Request) *h2Stream {
	s := &h2Stream{w: w, r: r, rc: http.NewResponseController(w), limit: int64(x.set.limits.BodyBytes)}
	s.pace = newPace(x.set.limits.BodyTimeout)
	s.reading.expire = func() { _ = s.rc.SetReadDeadline(socket.Past) }
	s.writing.expire = func() { _ = s.rc.SetWriteDeadline(socket.Past) }
	return s
}

// streamH2 parses the head of a request whose body the handler reads, and returns
// its length.
func (x *Exchange) streamH2() (int, error) {
	r := x.h2.r
	if r.ContentLength > int64(x.set.limits.BodyBytes) {
		return 0, http1.ErrTooLarge
	}
	n, err := x.parseH2(r, int(r.ContentLength))
	x.Request.ContentLength = r.ContentLength
	if r.ContentLength != 0 {
		x.body = newIncoming(r.ContentLength, x.h2)
	}
	return n, err
}

// read implements bodySource.
func (s *h2Stream) read(p []byte) (int, error) {
	began := time.Now()
	s.reading.start(s.pace.credit)
	n, err := s.r.Body.Read(p)
	s.reading.stop()
	s.pace.account(n, time.Since(began), minPace)
	if s.size += int64(n); s.size > s.limit {
		return 0, http1.ErrTooLarge
	}
	if err == io.EOF {
		if malformed := checkH2Trailer(s.r); malformed != nil {
			return n, malformed
		}
	}
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case errors.Is(err, os.ErrDeadlineExceeded) && s.woken.Load():
		return n, errWoken
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, errTooSlow
	}
	return n, io.ErrUnexpectedEOF
}

// wake implements bodySource. Nothing can be read after it: HTTP/2 informs the client that
// the rest is not wanted.
func (s *h2Stream) wake() {
	s.woken.Store(true)
	_ = s.rc.SetReadDeadline(socket.Past)
}

func (s *h2Stream) discardable() bool { return true }

func (s *h2Stream) trailer() (h http1.Fields) {
	for name, values := range s.r.Trailer {
		for _, v := range values {
			if f := (http1.Field{Name: []byte(name), Value: []byte(v)}); http1.InTrailer(f.Name) {
				h = append(h, f)
			}
		}
	}
	return h
}

// begin implements answerer.
func (s *h2Stream) begin(o *Outgoing, length int64, first []byte) error {
	x := o.x
	x.headH2(s.w, length)
	x.sent += len(x.Reply.lines)
	return s.piece(o, first) // flushes
}

// flush sends the bytes that the library has buffered.
func (s *h2Stream) flush(x *Exchange) error {
	s.writing.start(x.set.limits.WriteTimeout)
	defer s.writing.stop()
	s.delivery.begin(time.Since(x.srv.epoch))
	err := s.rc.Flush()
	s.delivery.end(time.Since(x.srv.epoch), 0)
	return err
}

func (s *h2Stream) piece(o *Outgoing, p []byte) error {
	for len(p) > 0 {
		s.writing.start(o.x.set.limits.WriteTimeout)
		n, err := s.send(o.x, p)
		s.writing.stop()
		if p = p[n:]; err != nil {
			return err
		}
	}
	return s.flush(o.x)
}

// send sends a first piece of p, and returns its length. It gives up a client that reads too
// slowly on average.
func (s *h2Stream) send(x *Exchange, p []byte) (int, error) {
	if s.delivery.cut.Load() {
		return 0, errSlowClient
	}
	began := time.Now()
	s.delivery.begin(began.Sub(x.srv.epoch))
	n, err := s.writeCopy(x, p)
	s.delivery.end(time.Since(x.srv.epoch), n)
	s.taken += n
	x.sent += n
	if err == nil && !x.keepsPace(n, time.Since(began), x.set.limits.WriteTimeout) {
		err = errSlowClient
	}
	return n, err
}

// extendWriteDeadline gives the next piece of an answer the whole write timeout.
func (s *h2Stream) extendWriteDeadline(x *Exchange) {
	_ = s.rc.SetWriteDeadline(time.Now().Add(x.set.limits.WriteTimeout))
}

// writeCopy writes a copy of the beginning of p. When the stream is reset the library's
// Write returns while its own goroutine may still read the bytes, and by then the memory of
// the answer may belong to another exchange.
//
// A client that reads nothing keeps the copy in memory. So the first copies are small, and
// all are while memory is short.
func (s *h2Stream) writeCopy(x *Exchange, p []byte) (int, error) {
	if b := x.srv.cfg.Budget; len(p) > smallPiece && s.taken >= minTaken && b.Buffer(tlsPiece) {
		defer b.Add(-tlsPiece)
		b := pieces.Get().(*[tlsPiece]byte)
		n, err := s.w.Write(b[:copy(b[:], p)])
		if err == nil {
			pieces.Put(b)
		}
		return n, err
	}
	b := smallPieces.Get().(*[smallPiece]byte)
	n, err := s.w.Write(b[:copy(b[:], p)])
	if err == nil {
		smallPieces.Put(b)
	}
	return n, err
}

const (
	smallPiece = 4 << 10
	minTaken   = 16 << 10 // a client that has read less may read no more
)

var (
	pieces      = sync.Pool{New: func() any { return new([tlsPiece]byte) }}
	smallPieces = sync.Pool{New: func() any { return new([smallPiece]byte) }}
)

func (s *h2Stream) end(o *Outgoing) error {
	h := s.w.Header()
	for _, f := range o.fields {
		h.Add(http.TrailerPrefix+string(f.Name), string(f.Value))
	}
	return nil
}

func (s *h2Stream) interim(_ *Exchange, status int, fields http1.Fields) error {
	if status == http.StatusContinue {
		return nil // the library does that at the first read
	}
	h := s.w.Header()
	for _, f := range fields {
		h.Add(string(f.Name), string(f.Value))
	}
	s.w.WriteHeader(status)
	clear(h)
	return nil
}

// concludeH2 ends an exchange over HTTP/2 after the handler has returned. It returns the
// bytes of its body and whether its answer is complete.
func (x *Exchange) concludeH2() (received int, whole bool) {
	s := x.h2
	if x.body != nil {
		x.body.finish()
		received = int(s.size)
	}
	if x.answer.begun {
		if whole = x.answer.whole(); !whole {
			x.srv.stats.unsent.Inc()
		}
		return received, whole
	}
	if x.body != nil {
		if e := x.body.refusal(); e != nil {
			x.refusal(e)
		}
	}
	return received, x.replyH2()
}

// headH2 sends the head of the answer.
func (x *Exchange) headH2(w http.ResponseWriter, length int64) {
	r := &x.Reply
	h := w.Header()
	for line := range strings.Lines(string(r.lines)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			h.Add(name, strings.TrimSpace(value))
		}
	}
	h["X-Request-Id"] = []string{string(x.Record.RequestID)}
	if _, ok := h["Content-Type"]; !ok {
		h["Content-Type"] = nil // not guessed from the body
	}
	if r.Close {
		h.Set("Connection", "close") // net/http ends the connection after the requests in flight
	}
	if length >= 0 {
		h["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	w.WriteHeader(r.Status)
}

// timeout is a timer for one wait after another.
type timeout struct {
	mu     sync.Mutex
	timer  *time.Timer
	until  time.Time // zero while no goroutine waits
	expire func()
}

func (t *timeout) start(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Now().Add(d)
	if t.timer == nil {
		t.timer = time.AfterFunc(d, t.fire)
		return
	}
	t.timer.Reset(d)
}

// stop ends the wait: expire is not called for it any more.
func (t *timeout) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = time.Time{}
	t.timer.Stop()
}

func (t *timeout) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.until.IsZero() && !time.Now().Before(t.until) {
		t.expire()
	}
}
