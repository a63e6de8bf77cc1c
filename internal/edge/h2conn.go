package edge

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http2"
)

// h2Conn is a connection that speaks HTTP/2. Package http2 has its protocol; this has its
// goroutines and its time.
//
// One goroutine reads at a time, the leader. It serves complete requests itself, one after the
// other, and sends the answers to all requests of one read together. An exchange that has to
// wait calls yield: another goroutine becomes the leader, and the exchange keeps its own. For
// one that waits without calling it, and for a write that blocks, h2Set does the same after a
// while. See lead.
type h2Conn struct {
	c *conn

	// turn is odd while the leader serves or writes. The goroutine that changes an odd value to
	// the next even one leads after that, or starts another one that does.
	turn  atomic.Uint64
	seen  uint64 // an odd turn that h2Set has found before; guarded by its mu
	index int    // in h2Set; guarded by its mu

	// These belong to the leader.
	in        []byte  // nil while idle
	off, have int     // of the unread bytes
	first     [1]byte // read while idle
	now       time.Duration
	failed    bool // the connection has ended with an error
	ending    bool // it is to be closed

	mu   sync.Mutex
	p    *http2.Conn
	head []byte // a header block, of answers

	writing bool        // a goroutine is writing
	queue   []*h2Stream // that wait to send, in order
	crowded bool        // the leader waits for Out to be written
	room    chan struct{}

	streams    int           // the exchanges of all streams
	running    int           // being served
	collecting []*h2Stream   // whose bodies are read before they are served
	since      time.Duration // when the last request was answered
	partial    bool          // a frame or header block is incomplete
	slow       time.Duration // since when it is
	armed      time.Duration // the read deadline; 0: none, negative: in the past
	armedWrite time.Duration // the write deadline
	drainAt    time.Duration // when the peer is no longer waited for to confirm the first GOAWAY
	closeAt    time.Duration // when an idle connection that has a GOAWAY is closed
	accepted   bool          // a request was, see Limits.UnauthenticatedIdle
	closed     bool
	err        error // of writing
}

// Settings of HTTP/2. All bodies of a connection that are not read take at most h2ConnWindow.
const (
	h2Streams    = 250
	h2Window     = 512 << 10
	h2ConnWindow = 1 << 20
)

// Sizes of the buffers of a connection while it is not idle. Output up to h2OutSize is
// collected for one write.
const (
	h2InSize  = http2.MaxBuffered
	h2OutSize = 64 << 10
)

var (
	h2Inputs  = sync.Pool{New: func() any { return new([h2InSize]byte) }}
	h2Outputs = sync.Pool{New: func() any { return new([h2OutSize]byte) }}
)

// speakH2 serves a connection that has negotiated HTTP/2. It may return before the
// connection ends, which another goroutine then serves.
func (c *conn) speakH2() {
	c.Detach()
	if c.srv.hard.Err() != nil { // cut may have run before the state was set
		_ = c.Sock.Close()
	}
	l := &c.srv.set.Load().limits
	h := &h2Conn{c: c, room: make(chan struct{}, 1), since: time.Since(c.srv.epoch)}
	h.now = h.since
	h.p = http2.NewConn(http2.Config{MaxStreams: h2Streams, HeaderList: l.HeaderBytes, Window: h2Window, ConnWindow: h2ConnWindow})
	c.srv.h2.add(h)
	if c.srv.conns.Stopping() { // drain may have run before
		h.drain()
	}
	h.lead()
}

// lead reads and serves until the connection ends or another goroutine leads.
func (h *h2Conn) lead() {
	for h.process() && h.flushAll() {
		if h.failed {
			h.c.Linger(h.in)
			h.ending = true
		} else if err := h.receive(); errors.Is(err, os.ErrDeadlineExceeded) {
			if !h.expired() {
				return
			}
		} else if err != nil {
			h.ending = true
		}
		if h.ending {
			h.finish()
			return
		}
	}
}

// process handles the bytes that were read. It returns false if another goroutine leads, or
// the connection has ended.
func (h *h2Conn) process() bool {
	if h.failed {
		return true
	}
	h.lock()
	advanced := false
	for {
		if len(h.p.Out) >= h2OutSize && !h.makeRoom() {
			h.mu.Unlock()
			return false
		}
		n, e, err := h.p.Next(h.in[h.off:h.have])
		h.off += n
		if err != nil {
			h.fail(err)
			h.mu.Unlock()
			return true
		}
		switch e.Kind {
		case http2.None:
			h.noteProgress(advanced)
			h.mu.Unlock()
			return true
		case http2.Request:
			if s := h.open(&e); s.isReady() && !h.serve(s) {
				return false
			}
		case http2.Data:
			if s := e.Stream.Owner.(*h2Stream); s.data(e.Data, e.End) && !h.serve(s) {
				return false
			}
		case http2.Trailer:
			if s := e.Stream.Owner.(*h2Stream); s.trailers(e.Head.Fields) && !h.serve(s) {
				return false
			}
		case http2.Reset:
			e.Stream.Owner.(*h2Stream).reset()
		}
		advanced = advanced || n > 0 && !h.p.InBlock()
	}
}

// noteProgress moves an incomplete frame to the front of the buffer, and notes since when it
// is incomplete.
func (h *h2Conn) noteProgress(advanced bool) {
	h.have = copy(h.in, h.in[h.off:h.have])
	h.off = 0
	before := h.partial
	if h.partial = h.p.Partial(); h.partial && (!before || advanced) {
		h.slow = h.now
	}
}

// serve serves a request in the leader's goroutine. It is called with mu held, which it
// holds again unless it returns false, because another goroutine leads.
func (h *h2Conn) serve(s *h2Stream) bool {
	h.running++
	h.mu.Unlock()
	s.turn = h.turn.Add(1)
	h.c.srv.h2.watch()
	turn := s.turn
	s.x.serveH2()
	if !h.turn.CompareAndSwap(turn, turn+1) {
		h.lock()
		h.answered(s)
		h.flush()
		h.leave()
		return false
	}
	h.lock()
	h.answered(s)
	h.running--
	return true
}

// answered ends a request. mu is held.
func (h *h2Conn) answered(s *h2Stream) {
	h.accepted = h.accepted || s.accepted
	s.release()
	h.since = time.Since(h.c.srv.epoch)
}

// leave ends an exchange whose goroutine does not lead. It is called with mu held, and
// releases it.
func (h *h2Conn) leave() {
	h.running--
	if h.closed {
		last := h.running == 0
		h.mu.Unlock()
		if last {
			h.c.Forget()
		}
		return
	}
	switch {
	case h.over():
		h.wakeLeader()
	case h.running == 0:
		h.arm()
	}
	h.mu.Unlock()
}

// yield lets another goroutine lead if the exchange of that turn is served by the leader.
// mu is not held.
func (h *h2Conn) yield(turn uint64) {
	if h.turn.CompareAndSwap(turn, turn+1) {
		go h.lead()
		h.lock()
		h.flush()
		h.mu.Unlock()
	}
}

// leads reports whether the exchange of that turn is served by the leader, which sends what
// the exchange leaves in Out.
func (h *h2Conn) leads(turn uint64) bool { return h.turn.Load() == turn }

// receive waits for more bytes. An idle connection has no buffers.
func (h *h2Conn) receive() error {
	into := h.first[:]
	h.mu.Lock()
	if h.over() {
		h.mu.Unlock()
		return errH2Over
	}
	h.arm()
	if h.have > 0 {
		into = h.in[h.have:]
	} else {
		h.park()
	}
	h.mu.Unlock()
	n, err := h.c.NC.Read(into)
	h.now = time.Since(h.c.srv.epoch)
	h.p.Now = h.now // only the leader uses it
	if n == 0 {
		return err
	}
	if h.in == nil {
		h.in = h2Inputs.Get().(*[h2InSize]byte)[:]
		h.in[0] = h.first[0]
		h.have = 1
		if err == nil {
			return h.receiveRest()
		}
	} else {
		h.have += n
	}
	return nil // a lasting error is returned again
}

// receiveRest reads what has arrived together with the first byte: TLS has decrypted it. If
// that was the only byte, it waits no longer than for the rest of a frame.
func (h *h2Conn) receiveRest() error {
	h.mu.Lock()
	if !h.partial {
		h.partial, h.slow = true, h.now
	}
	h.arm()
	h.mu.Unlock()
	n, err := h.c.NC.Read(h.in[1:])
	h.have += n
	if n > 0 {
		return nil
	}
	return err
}

var errH2Over = errors.New("edge: the connection is drained")

// park returns the buffers to their pools. mu is held.
func (h *h2Conn) park() {
	if h.in != nil {
		h2Inputs.Put((*[h2InSize]byte)(h.in))
		h.in = nil
	}
	if h.p.Out != nil && len(h.p.Out) == 0 {
		recycleOutput(h.p.Out)
		h.p.Out = nil
	}
	if cap(h.head) > outSize {
		h.head = nil
	}
}

func recycleOutput(b []byte) {
	if cap(b) == h2OutSize {
		h2Outputs.Put((*[h2OutSize]byte)(b[:h2OutSize]))
	}
}

// lock locks mu for something that may append to Out.
func (h *h2Conn) lock() {
	h.mu.Lock()
	h.output()
}

// output makes room for output. mu is held.
func (h *h2Conn) output() {
	if h.p.Out == nil {
		h.p.Out = h2Outputs.Get().(*[h2OutSize]byte)[:0]
	}
}

// fail ends the connection with an error code. The leader calls it with mu held.
func (h *h2Conn) fail(err error) {
	code := http2.InternalError
	errors.As(err, &code)
	if code == http2.EnhanceYourCalm {
		h.c.srv.stats.h2Ended(h.p.Flood).Inc()
	}
	h.p.GoAway(code)
	h.cancelStreams(false)
	h.failed = true
}

// cancelStreams resets all streams. mu is held.
func (h *h2Conn) cancelStreams(closed bool) {
	h.closed = h.closed || closed
	for h.p.Streams() > 0 {
		s := h.p.CloseLast()
		s.Owner.(*h2Stream).reset()
	}
}

// finish closes the connection. It is called by the leader, which is the last one.
func (h *h2Conn) finish() {
	h.c.srv.h2.remove(h)
	_ = h.c.NC.Close()
	h.mu.Lock()
	h.cancelStreams(true)
	last := h.running == 0
	h.have = 0
	h.park()
	h.mu.Unlock()
	if last {
		h.c.Forget()
	}
}
