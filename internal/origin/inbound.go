package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
)

// Inbound is an answer whose head has come and whose body is read as it comes. One
// goroutine may use it at a time; to end a Read that is under way, end the context.
type Inbound struct {
	// Status is 101, or from 200 to 999.
	Status int
	// Reason is the text behind the status; it may be empty.
	Reason []byte
	// Minor is 0 for HTTP/1.0 and 1 for every later HTTP/1.
	Minor int
	// Header are the fields as they came, those of the connection included, in memory
	// of their own.
	Header http1.Fields
	// Length of the body, -1 if only its end tells. In answers to HEAD, and in 304, it
	// is the length that was announced for the body that does not come, or -1.
	Length int64

	t    *Transport
	ctx  context.Context
	c    *conn
	x    *exchange   // holds what was read with the head; nil once that is used up
	free func() bool // ends ctx's hold on c; false if that has been interrupted
	// headTime and stallTime are the timeouts of this exchange.
	headTime, stallTime time.Duration

	sender *sender // nil unless a body is streamed
	// mu orders the deadline of the head, which the sender sets once all is sent, and
	// that of the body. Leaf.
	mu       sync.Mutex
	answered bool // guarded by mu: the final head has come
	// fail is set before the sender interrupts the exchange.
	requestFailed atomic.Bool

	responding bool // a byte of an answer has come
	noReuse    bool // the connection is for no further exchange
	framing    http1.Framing
	left       int64 // of a body of known length
	chunks     http1.Chunked
	deadline   time.Time // the deadline for reading the body
	pending    error     // what came with the bytes that were read last
	extraData  bool      // something came behind the body
	held       held      // what Hold has read of the body

	over  bool
	err   error // what Read returns from now on
	ended func(error)
}

// ErrClosed is what Read returns after Close.
var ErrClosed = errors.New("origin: the answer is closed")

// sendRequest sends q, but for a streamed body, whose sending it begins. left is whether the
// origin may have got any of it.
func (in *Inbound) sendRequest(q *Outbound) (left bool, err error) {
	s := newSender(in, q)
	if s != nil {
		in.c.SetReadDeadline(time.Time{}) // the sender sets it
	}
	in.free = func() bool { return true }
	if in.ctx.Done() != nil {
		in.free = context.AfterFunc(in.ctx, in.c.interrupt)
	}
	left, err = in.c.send(in.x.out, in.x.rest)
	if err != nil {
		return left, fmt.Errorf("send the request: %w", err)
	}
	if s != nil {
		in.sender = s
		go s.run()
	}
	return true, nil
}

// readHead reads up to the end of the final answer's head.
func (in *Inbound) readHead(q *Outbound) error {
	x := in.x
	x.begin, x.end, x.readErr = 0, 0, nil
	x.response.Reset()
	var seen interims
	for {
		n, err := x.nextHead(in.c, &in.t.limits)
		in.responding = in.responding || err == nil || x.begin < x.end
		if err != nil {
			return fmt.Errorf("read the answer's head: %w", err)
		}
		status := x.response.Status
		switch {
		case status >= 200 || status == http.StatusSwitchingProtocols && q.Upgrade && in.sender == nil:
			return in.acceptHead()
		case status == http.StatusSwitchingProtocols:
			return errUpgrade
		}
		if !seen.admit(n) {
			return errInterim
		}
		in.interim(q, status)
	}
}

// interim takes an interim answer in.
func (in *Inbound) interim(q *Outbound, status int) {
	switch {
	case status == http.StatusContinue:
		in.sender.begin()
	case q.Interim != nil:
		q.Interim(status, in.x.response.Fields)
	}
	if in.sender == nil || in.sender.isOver() {
		in.setDeadline(in.headTime)
	}
}

// acceptHead takes the final head over.
func (in *Inbound) acceptHead() error {
	in.mu.Lock()
	in.answered = true
	in.mu.Unlock()
	r := &in.x.response
	// The reason goes along with the fields, to be copied with them.
	r.Fields = append(r.Fields, http1.Field{Value: r.Reason})
	in.Header = r.Fields.Clone()
	n := len(in.Header) - 1
	in.Header, in.Reason = in.Header[:n], in.Header[n].Value
	in.Status, in.Minor, in.noReuse = r.Status, r.Minor, r.Close
	in.c.keepFor(in.Header.Get("keep-alive"))
	head := in.x.isHead()
	in.framing = r.Body(head)
	in.Length, in.left = r.ContentLength, r.ContentLength
	if in.framing == http1.NoBody && !head && r.Status != http.StatusNotModified {
		in.Length = 0
	}
	switch {
	case r.Status == http.StatusSwitchingProtocols:
		return in.detach()
	case in.framing == http1.NoBody:
		in.end(io.EOF)
		return nil
	}
	if in.sender != nil && in.noReuse && in.Status >= 400 {
		in.sender.cancel() // it wants no more
	}
	in.chunks.Reset(math.MaxInt64)
	in.releaseBuffers(false)
	in.extendDeadline()
	return nil
}

// requestSent is told by the sender that it has ended: the head's time begins.
func (in *Inbound) requestSent() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.answered {
		in.setDeadline(in.headTime)
	}
}

// setDeadline gives reading so much time from now. The end of ctx, which sets a deadline of
// its own, must not be overruled: it comes before its effect. The same goes for a body
// that broke.
//
//	ctx ends; interrupt sets the past; arm sets the future, and sees that ctx has ended
//	arm sets the future, sees no end;  ctx ends; interrupt sets the past
func (in *Inbound) setDeadline(d time.Duration) {
	in.c.SetReadDeadline(time.Now().Add(d))
	if in.ctx.Err() != nil || in.requestFailed.Load() {
		in.c.interrupt()
	}
}

// extendDeadline gives the body stallTime from now, but does not set the deadline for each
// read: the one that is set may lie a quarter further.
func (in *Inbound) extendDeadline() {
	stall := in.stallTime
	now := time.Now()
	if h := in.held.until; !h.IsZero() && h.Sub(now) < stall {
		in.setDeadline(h.Sub(now))
		return
	}
	if in.deadline.Sub(now) < stall {
		in.deadline = now.Add(stall + stall/4)
		in.setDeadline(stall + stall/4)
	}
}

// Read reads the body without its framing. io.EOF says that it came whole. A body
// that was cut, reset or stalled ends with a *Fault; io.ErrUnexpectedEOF is in it
// when the connection ended too early.
func (in *Inbound) Read(p []byte) (n int, err error) {
	if len(in.held.pieces) > 0 {
		return in.held.read(p), nil
	}
	if in.over {
		return 0, in.err
	}
	if len(p) == 0 {
		return 0, nil
	}
	if in.framing == http1.NoBody { // 101: what comes now is for Conn
		return 0, io.EOF
	}
	n, err = in.readBody(p)
	if err != nil {
		in.end(err)
		if n > 0 && in.err == io.EOF {
			return n, nil
		}
		return n, in.err
	}
	return n, nil
}

// readBody reads some of the body. The error is io.EOF as soon as all has come, with or
// without bytes.
func (in *Inbound) readBody(p []byte) (n int, err error) {
	switch in.framing {
	case http1.Length:
		n, err = in.readRaw(p[:min(int64(len(p)), in.left)])
		if in.left -= int64(n); in.left == 0 {
			return n, io.EOF
		}
	case http1.Chunks:
		return in.readChunks(p)
	case http1.UntilClose:
		if n, err = in.readRaw(p); err == io.EOF && !in.c.truncated() {
			return n, io.EOF
		}
	}
	return n, unexpectedEOF(err, true)
}

// readChunks reads chunks into p and takes the framing out of them there.
func (in *Inbound) readChunks(p []byte) (int, error) {
	for {
		n, err := in.readRaw(p)
		if err != nil {
			return 0, unexpectedEOF(err, true)
		}
		out, used, done, err := in.chunks.Decode(p[:0], p[:n])
		switch {
		case err != nil:
			return len(out), err
		case done:
			in.extraData = used < n
			return len(out), io.EOF
		case len(out) > 0:
			return len(out), nil
		}
	}
}

// readRaw reads what came with the head, and then from the connection. It returns bytes
// or an error, never both.
func (in *Inbound) readRaw(p []byte) (int, error) {
	if in.x != nil {
		n := copy(p, in.x.in[in.x.begin:in.x.end])
		in.x.begin += n
		in.releaseBuffers(false)
		return n, nil
	}
	for in.pending == nil {
		in.extendDeadline()
		n, err := in.c.Read(p)
		if err != nil && in.holdExpired(err) {
			return n, errHoldExpired
		}
		in.pending = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, in.pending
}

// releaseBuffers gives the exchange's buffers back once what is in them is used, or of no use:
// an answer that streams for hours holds none.
func (in *Inbound) releaseBuffers(unused bool) {
	x := in.x
	if x == nil || !unused && x.begin < x.end {
		return
	}
	in.extraData = in.extraData || x.begin < x.end
	in.pending = x.readErr
	in.x = nil
	x.free()
}

// end ends the exchange with the error that Read returns from now on: io.EOF if all
// is well. The connection goes back to the pool if it is good for another exchange.
func (in *Inbound) end(err error) {
	if in.over {
		return
	}
	whole := err == io.EOF
	in.over, in.err = true, err
	in.releaseBuffers(true)
	clean := in.pending == nil && !in.extraData && !in.noReuse && in.framing != http1.UntilClose
	sent, bodyErr := in.sender.finish(whole)
	if in.free() && whole && clean && sent {
		in.t.pool.put(in.c)
	} else {
		in.c.Close()
	}
	switch {
	case whole, err == ErrClosed:
	case bodyErr != nil:
		in.err = in.fault(&Fault{Kind: Canceled, Aborted: in.sender.aborted(err), Err: fmt.Errorf("read the request's body: %w", bodyErr)})
	default:
		in.err = in.fault(newFault(in.ctx, Reset, true, err))
	}
	in.tell()
}

func (in *Inbound) fault(f *Fault) *Fault {
	f.Origin, f.Attempts, f.Reached = in.t.cfg.Member, 1, true
	return f
}

// OnEnd has f called once, when the exchange is over, by the goroutine that notices:
// with nil when the answer came whole, ErrClosed when it was closed before, else with
// what Read returned. If it is over already, f is called at once.
func (in *Inbound) OnEnd(f func(error)) {
	in.ended = f
	if in.over {
		in.tell()
	}
}

func (in *Inbound) tell() {
	if f := in.ended; f != nil {
		in.ended = nil
		if in.err == io.EOF {
			f(nil)
		} else {
			f(in.err)
		}
	}
}

// Trailer gives the fields that came behind the body, after io.EOF, without those
// that may not stand there.
func (in *Inbound) Trailer() http1.Fields { return in.chunks.Trailer() }

// Close ends the exchange. A connection whose answer was not read to the end is
// closed with it, unless the rest has come already. After Close nothing reads the
// request's body any more.
func (in *Inbound) Close() error {
	in.held.drop()
	if !in.over && in.x != nil && in.drainBuffered() {
		in.end(io.EOF)
	}
	in.end(ErrClosed)
	return nil
}

// drainBuffered takes the rest of the body out of what was read with the head, and says
// whether that was all of it.
func (in *Inbound) drainBuffered() bool {
	x := in.x
	rest := x.in[x.begin:x.end]
	switch in.framing {
	case http1.Length:
		x.begin += int(min(in.left, int64(len(rest))))
		return in.left <= int64(len(rest))
	case http1.Chunks:
		_, n, done, err := in.chunks.Decode(rest[:0], rest)
		x.begin += n
		return done && err == nil
	}
	return false
}
