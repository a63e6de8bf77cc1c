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
	"github.com/kasoku/kasoku/internal/scope"
	"github.com/kasoku/kasoku/internal/socket"
)

// Inbound is an answer whose head has arrived and whose body is streamed. It is used by one
// goroutine at a time; cancel the context to end a Read in progress.
type Inbound struct {
	// Status is 101, or from 200 to 999.
	Status int
	// Minor is 0 for HTTP/1.0 and 1 for every later HTTP/1.
	Minor int
	// Header are the received fields, including hop-by-hop fields, in memory of the
	// Inbound's own.
	Header http1.Fields
	// Length of the body, -1 if unknown. For answers to HEAD, and for 304, it is the
	// announced length of the omitted body, or -1.
	Length int64

	t     *Transport
	ctx   context.Context
	c     *conn
	x     *exchange   // holds data read with the head; nil once that is consumed
	watch scope.Watch // interrupts c when ctx ends
	// headTime and stallTime are the timeouts of this exchange.
	headTime, stallTime time.Duration

	sender *sender // nil unless a body is streamed
	// mu orders the deadline of the head, which the sender sets once everything is sent, and
	// that of the body. Leaf.
	mu       sync.Mutex
	answered bool // guarded by mu: the final head has arrived
	// requestFailed is set before the sender interrupts the exchange.
	requestFailed atomic.Bool

	responding bool // a byte of an answer has arrived
	noReuse    bool // the connection can't be reused
	framing    http1.Framing
	left       int64 // rest of a body of known length
	chunks     http1.Chunked
	deadline   time.Time // for reading the body
	pending    error     // error returned together with the last data
	extraData  bool      // data follows the body
	held       held      // data read by Hold

	over bool
	err  error // the error of all further reads

	observer Observer
	memory   headerMemory
}

// headerMemory is the memory of Header.
type headerMemory struct {
	fields http1.Fields
	text   []byte
}

// maxHeaderMemory is the length of the longest header whose memory is used again.
const maxHeaderMemory = 16 << 10

// inbounds are Inbounds that were recycled.
var inbounds = sync.Pool{New: func() any { return new(Inbound) }}

// Recycle closes the Inbound like Close, and uses it for another exchange: the caller must
// not refer to it or to Header any more.
func (in *Inbound) Recycle() {
	in.Close()
	m := in.memory
	if cap(m.text) > maxHeaderMemory {
		m = headerMemory{}
	}
	clear(m.fields)
	*in = Inbound{memory: m}
	inbounds.Put(in)
}

// Whole returns an answer that has arrived as a whole by another way than a connection.
func Whole(status int, header http1.Fields, body []byte) *Inbound {
	in := &Inbound{Status: status, Minor: 1, Header: header, Length: int64(len(body)), over: true, err: io.EOF}
	if len(body) > 0 {
		in.held = held{pieces: [][]byte{body}, firstSize: len(body), memory: uncounted{}}
	}
	return in
}

// uncounted is Memory for bytes that their owner counts.
type uncounted struct{}

func (uncounted) Take(int64) bool { return true }
func (uncounted) Release(int64)   {}

// ErrClosed is returned by Read after Close.
var ErrClosed = errors.New("origin: the answer is closed")

// sendRequest sends q and starts the sender of a streamed body. left reports whether the
// origin may have received any of it.
func (in *Inbound) sendRequest(q *Outbound) (left bool, err error) {
	s := newSender(in, q)
	if s != nil {
		in.c.SetReadDeadline(time.Time{}) // the sender sets it
	}
	in.watch.Start(in.ctx, in.c.interrupt)
	left, err = in.x.send(in.c, q.Guard, s == nil)
	if err == socket.ErrNotIdle {
		return false, err
	}
	if err != nil {
		return left, fmt.Errorf("send the request: %w", err)
	}
	if s != nil {
		in.sender = s
		go s.run()
	}
	return true, nil
}

// SetContext replaces the context whose end interrupts the exchange. It returns false if the
// old one has interrupted it.
func (in *Inbound) SetContext(ctx context.Context) bool {
	if in.over {
		return true
	}
	ok := in.watch.Stop()
	in.ctx = ctx
	in.watch.Start(in.ctx, in.c.interrupt)
	return ok
}

// readHead reads up to the end of the final answer's head.
func (in *Inbound) readHead(q *Outbound) error {
	x := in.x
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
			if in.sender.withheld() {
				return errWithheld
			}
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

// interim handles an interim answer.
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

// acceptHead takes status, fields and framing from the final head.
func (in *Inbound) acceptHead() error {
	in.mu.Lock()
	in.answered = true
	in.mu.Unlock()
	r := &in.x.response
	in.memory.fields, in.memory.text = r.Fields.CloneInto(in.memory.fields, in.memory.text)
	in.Header = in.memory.fields
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
		in.sender.cancel() // the origin does not want the rest
	}
	in.chunks.Reset(math.MaxInt64)
	in.releaseBuffers(false)
	return nil
}

// requestSent is called by the sender at its end: the timeout of the head begins.
func (in *Inbound) requestSent() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.answered {
		in.setDeadline(in.headTime)
	}
}

// setDeadline lets reads wait for d from now. It must not override the deadline set when ctx
// ends or when the sender fails, so it checks for both after setting its own:
//
//	ctx ends; interrupt sets the past; setDeadline sets the future, and sees that ctx has ended
//	setDeadline sets the future, sees no end;  ctx ends; interrupt sets the past
func (in *Inbound) setDeadline(d time.Duration) {
	in.c.SetReadDeadline(time.Now().Add(d))
	if in.ctx.Err() != nil || in.requestFailed.Load() {
		in.c.interrupt()
	}
}

// extendDeadline gives the body stallTime from now. To avoid a system call for each read it
// sets a deadline up to a quarter later.
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

// Read reads the body without its framing. io.EOF means that it is complete. A truncated,
// reset or stalled body ends with a *Fault, which wraps io.ErrUnexpectedEOF if the
// connection ended too early.
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
	if in.framing == http1.NoBody { // 101: all further data belongs to Conn
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

// readBody reads from the body. It returns io.EOF as soon as the body is complete, with or
// without data.
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

// readChunks reads chunks into p and removes their framing there.
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

// readRaw reads the data that arrived with the head, then from the connection. It returns
// data or an error, never both.
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

// releaseBuffers returns the exchange's buffers once their data is consumed, or unused: an
// answer that streams for hours holds none.
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

// end ends the exchange with the error of all further reads: io.EOF if the body is complete.
// The connection is returned to the pool if it can be reused.
func (in *Inbound) end(err error) {
	if in.over {
		return
	}
	whole := err == io.EOF
	in.over, in.err = true, err
	in.releaseBuffers(true)
	clean := in.pending == nil && !in.extraData && !in.noReuse && in.framing != http1.UntilClose
	sent, bodyErr := in.sender.finish(whole)
	if in.watch.Stop() && whole && clean && sent {
		in.t.pool.put(in.c)
	} else {
		in.c.Close()
	}
	switch {
	case whole, err == ErrClosed:
	case in.sender != nil && in.sender.err == errWithheld:
		in.err = in.fault(newFault(in.ctx, Withheld, true, errWithheld))
	case bodyErr != nil:
		in.err = in.fault(&Fault{Kind: Canceled, Aborted: in.sender.aborted(err), Err: fmt.Errorf("read the request's body: %w", bodyErr)})
	default:
		in.err = in.fault(newFault(in.ctx, Reset, true, err))
	}
	in.reportEnd()
}

func (in *Inbound) fault(f *Fault) *Fault {
	f.Origin, f.Attempts, f.Reached = in.t.cfg.Member, 1, true
	return f
}

// Observer is notified of the end of exchanges.
type Observer interface {
	// Ended is called once at the end of an exchange by the goroutine that detects it: with
	// nil if the answer was complete, with ErrClosed if it was closed before, and otherwise
	// with the error of Read.
	Ended(in *Inbound, err error)
}

// Observe registers the observer. If the exchange has ended already, Ended is called at once.
func (in *Inbound) Observe(o Observer) {
	in.observer = o
	if in.over {
		in.reportEnd()
	}
}

func (in *Inbound) reportEnd() {
	if o := in.observer; o != nil {
		in.observer = nil
		if in.err == io.EOF {
			o.Ended(in, nil)
		} else {
			o.Ended(in, in.err)
		}
	}
}

// Trailer returns the allowed fields that followed the body. It is valid after io.EOF.
func (in *Inbound) Trailer() http1.Fields { return in.chunks.Trailer() }

// Close ends the exchange. It also closes the connection, unless the rest of the answer has
// arrived already. After Close the request's body is no longer read.
func (in *Inbound) Close() error {
	in.held.drop()
	if !in.over && in.x != nil && in.drainBuffered() {
		in.end(io.EOF)
	}
	in.end(ErrClosed)
	return nil
}

// drainBuffered consumes buffered data of the body and reports whether the body is then
// complete.
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
