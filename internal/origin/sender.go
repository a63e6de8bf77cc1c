package origin

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// sender sends a request's body in its own goroutine, so that the answer can be read at the
// same time. It may write to the connection until done is closed; the connection is returned
// to the pool only afterwards.
type sender struct {
	in          *Inbound
	body        io.Reader
	length      int64 // -1: chunked
	trailer     func() http1.Fields
	stop        func()      // may be nil
	awaitAnswer func() bool // may be nil
	guard       func() bool // may be nil

	// proceed is closed when the origin requests the body; nil without Expect.
	proceed    chan struct{}
	proceeding bool // proceed is closed; used by the reader of the answer
	quit       chan struct{}
	// canceled is set before quit is closed: the rest of the body is not needed.
	canceled atomic.Bool
	// last is set before the last bytes are written, because the complete answer may then
	// arrive before the write returns.
	last atomic.Bool

	done chan struct{} // closed at the end, after the fields below are set
	err  error         // why the body was not sent completely
	// bodyErr is the error of reading body. halfClosed is set if the origin was notified of
	// it.
	bodyErr    error
	halfClosed bool
	deadline   time.Time // for writing
	digits     [8]byte   // of a chunk's size
}

var errUnsent = errors.New("origin: the body was not sent whole")

// newSender returns nil if q has no body to stream. A large body in memory is streamed too,
// so that an early answer is read.
func newSender(in *Inbound, q *Outbound) *sender {
	if !q.streams() {
		if len(q.Content) <= maxJoinedWrite {
			return nil
		}
		return ready(&sender{in: in, body: bytes.NewReader(q.Content), length: int64(len(q.Content)), guard: q.Guard})
	}
	s := &sender{in: in, body: q.reader(), length: q.Length, trailer: q.Trailer, stop: q.Stop, awaitAnswer: q.AwaitAnswer, guard: q.Guard}
	if q.Expect {
		s.proceed = make(chan struct{})
	}
	return ready(s)
}

func ready(s *sender) *sender {
	s.quit, s.done = make(chan struct{}), make(chan struct{})
	return s
}

func (s *sender) run() {
	defer close(s.done)
	if s.mayBegin() {
		s.err = s.pump()
	} else {
		s.err = errUnsent
	}
	if s.err == nil && s.forbidden() {
		s.err = errWithheld
	}
	if s.err == errWithheld { // the outcome is unknown, and an answer is not waited for
		s.in.requestFailed.Store(true)
		s.in.c.interrupt()
	}
	s.in.requestSent()
}

// mayBegin waits until the origin requests the body, or for ExpectTimeout.
func (s *sender) mayBegin() bool {
	if s.proceed == nil {
		return true
	}
	t := time.NewTimer(s.in.t.cfg.ExpectTimeout)
	defer t.Stop()
	select {
	case <-s.proceed:
	case <-t.C:
	case <-s.quit:
		return false
	case <-s.in.ctx.Done():
		return false
	}
	return true
}

// begin is called when the origin requests the body. s may be nil.
func (s *sender) begin() {
	if s != nil && s.proceed != nil && !s.proceeding {
		s.proceeding = true
		close(s.proceed)
	}
}

func (s *sender) isOver() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// cancel stops the sending without waiting for it.
func (s *sender) cancel() {
	if s.isOver() || s.last.Load() || s.canceled.Swap(true) {
		return
	}
	close(s.quit)
	s.in.c.raw.SetWriteDeadline(aLongTimeAgo)
	if s.stop != nil {
		s.stop()
	}
}

// finish ends the sending and waits for its end. If the answer is complete, the last write
// may still complete. sent reports whether everything was sent. s may be nil.
func (s *sender) finish(whole bool) (sent bool, bodyErr error) {
	if s == nil {
		return true, nil
	}
	if whole && s.last.Load() {
		s.in.c.SetWriteDeadline(time.Now().Add(time.Second))
	} else {
		s.cancel()
		s.in.c.interrupt()
	}
	<-s.done
	return s.err == nil, s.bodyErr
}

// bodyBuffers hold a piece of a body: room for the line before a chunk, its data, and its
// end.
var bodyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// sizeLine is the maximum length of the line before a chunk of a buffer's size.
const sizeLine = len("8000\r\n")

// pump sends the body.
func (s *sender) pump() error {
	buf := bodyBuffers.Get().(*[32 << 10]byte)
	defer bodyBuffers.Put(buf)
	idle := 0
	for s.length != 0 {
		room := buf[sizeLine : len(buf)-2]
		if s.length > 0 {
			room = room[:min(int64(len(room)), s.length)]
		}
		n, err := s.body.Read(room)
		if n > 0 {
			idle = 0
			if e := s.writePiece(buf, n); e != nil {
				return e
			}
		} else if idle++; idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
		switch {
		case err == nil || s.length == 0:
		case err == io.EOF && s.length < 0:
			return s.finishChunks(buf[:0])
		default:
			return s.fail(unexpectedEOF(err, true))
		}
	}
	return nil
}

// writePiece sends n bytes of buf, which follow the room for a size line.
func (s *sender) writePiece(buf *[32 << 10]byte, n int) error {
	if s.length > 0 {
		s.length -= int64(n)
		if s.length == 0 {
			s.last.Store(true)
		}
		return s.write(buf[sizeLine : sizeLine+n])
	}
	line := strconv.AppendInt(s.digits[:0], int64(n), 16)
	begin := sizeLine - 2 - len(line)
	copy(buf[begin:], line)
	copy(buf[sizeLine-2:], "\r\n")
	end := sizeLine + n
	copy(buf[end:], "\r\n")
	return s.write(buf[begin : end+2])
}

// finishChunks sends the last chunk and the trailer.
func (s *sender) finishChunks(b []byte) error {
	b = append(b, "0\r\n"...)
	if s.trailer != nil {
		for _, f := range s.trailer() {
			if ascii.IsToken(f.Name) && http1.InTrailer(f.Name) {
				b = http1.AppendFieldBytes(b, string(f.Name), f.Value)
			}
		}
	}
	s.last.Store(true)
	return s.write(append(b, "\r\n"...))
}

// forbidden reports whether the guard does not allow to send.
func (s *sender) forbidden() bool { return s.guard != nil && !s.guard() }

// withheld reports, when the answer arrives, whether the guard does not allow the request. It
// may arrive before the goroutine of s has called the guard for the last time. s may be nil.
func (s *sender) withheld() bool {
	switch {
	case s == nil:
		return false
	case s.isOver():
		return s.err == errWithheld
	}
	return s.forbidden()
}

// write writes b within stallTime, or a quarter more.
func (s *sender) write(b []byte) error {
	if s.forbidden() {
		return errWithheld
	}
	stall := s.in.stallTime
	if now := time.Now(); s.deadline.Sub(now) < stall {
		s.deadline = now.Add(stall + stall/4)
		s.in.c.SetWriteDeadline(s.deadline)
		if s.canceled.Load() || s.in.ctx.Err() != nil {
			s.in.c.raw.SetWriteDeadline(aLongTimeAgo)
		}
	}
	_, err := s.in.c.Write(b)
	return err
}

// fail ends the exchange, or this direction of it, because the body could not be read: the
// origin must not treat the part it received as complete.
func (s *sender) fail(err error) error {
	if s.canceled.Load() {
		return errUnsent
	}
	s.bodyErr = err
	if s.halfClosed = s.awaitAnswer != nil && s.awaitAnswer() && s.in.c.closeWrite(); !s.halfClosed {
		s.in.requestFailed.Store(true)
		s.in.c.interrupt()
	}
	return err
}

// aborted reports whether err means that the origin closed the connection after the sender
// had closed its direction before the end of the request.
func (s *sender) aborted(err error) bool {
	return s.halfClosed && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET))
}
