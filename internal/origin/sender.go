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

// sender sends a request's body from a goroutine of its own, so that the answer can
// be read meanwhile. It may write to the connection until done is closed; the
// connection goes back to the pool only afterwards.
type sender struct {
	in          *Inbound
	body        io.Reader
	length      int64 // -1: chunked
	trailer     func() http1.Fields
	stop        func()      // may be nil
	awaitAnswer func() bool // may be nil

	// proceed is closed when the origin wants the body; nil if it is not asked.
	proceed    chan struct{}
	proceeding bool // proceed is closed; owned by the reader of the answer
	quit       chan struct{}
	// canceled is set before quit is closed: nobody wants the rest of the body.
	canceled atomic.Bool
	// noReuse is set before the last bytes are written, behind which the answer may be
	// whole before the write returns here.
	last atomic.Bool

	done chan struct{} // closed at the end; what follows is then set
	err  error         // why not all was sent
	// bodyErr is why body could not be read. The origin was told if halved is set.
	bodyErr    error
	halfClosed bool
	deadline   time.Time // the deadline for writing
	digits     [8]byte   // of a chunk's size
}

var errUnsent = errors.New("origin: the body was not sent whole")

// newSender returns nil if q has no body to stream. A large one in memory is streamed
// too, so that an early answer to it is taken.
func newSender(in *Inbound, q *Outbound) *sender {
	if !q.streams() {
		if len(q.Content) <= maxJoinedWrite {
			return nil
		}
		return ready(&sender{in: in, body: bytes.NewReader(q.Content), length: int64(len(q.Content))})
	}
	s := &sender{in: in, body: q.reader(), length: q.Length, trailer: q.Trailer, stop: q.Stop, awaitAnswer: q.AwaitAnswer}
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
	s.in.requestSent()
}

// mayBegin waits until the origin wants the body, or says nothing for long.
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

// begin is called when the origin wants the body. s may be nil.
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

// finish ends the sending and waits for that: when the answer is whole, what is being
// written last may still go out. sent is whether all went out. s may be nil.
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

// bodyBuffers hold what of a body is under way: room for the line before a chunk,
// its data, and its end.
var bodyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// sizeLine is the longest line before a chunk of a buffer's size.
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

// writePiece sends n bytes that lie behind the room for a size.
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

// write writes within stallTime for each piece, or a quarter more.
func (s *sender) write(b []byte) error {
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

// fail ends the exchange, or this direction of it, because the body could not be
// read: the origin must not take what it got for all.
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

// aborted says whether err is the origin's end of a connection of which the sender had
// ended its direction, too early for the request to be whole.
func (s *sender) aborted(err error) bool {
	return s.halfClosed && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET))
}
