package edge

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"

	"github.com/kasoku/kasoku/internal/socket"
)

// h2Conn is a connection of HTTP/2 between TLS and the library. It enforces bounds that the
// library doesn't have: on the time that a header block takes and on the rate of resets. A
// client that exceeds them receives a GOAWAY, which the library sends when Read fails with
// an http2.ConnectionError.
type h2Conn struct {
	*tls.Conn
	c      *conn
	resets *rate.Limiter

	// These belong to the goroutine that reads, except walkOut, which belongs to the one
	// that writes.
	walkIn, walkOut frameWalk
	buf             []byte // read from TLS but not yet by the library
	space           [h2Buffer]byte
	limited         bool // the read deadline is set, for walkIn.partial
	begun           bool // Read was called

	// For Limits.UnauthenticatedIdle. since is when the last request was answered, counted
	// from the server's epoch; the timer runs until a request is accepted.
	accepted  atomic.Bool
	running   atomic.Int64 // requests being served
	since     atomic.Int64
	authTimer *time.Timer

	mu    sync.Mutex // leaf; held to set the read deadline
	ended bool
	code  http2.ErrCode // with which it is ended
}

// h2Buffer is large enough for the frames of an ordinary request to arrive as a whole: only
// larger ones need a deadline.
const h2Buffer = 2 << 10

// Bounds on the streams of a connection that are reset: at once, and in a second. A browser
// that leaves a page resets all of its requests.
const (
	resetBurst     = 200
	resetPerSecond = 20
)

func newH2Conn(c *conn, tc *tls.Conn) *h2Conn {
	h := &h2Conn{Conn: tc, c: c, resets: rate.NewLimiter(resetPerSecond, resetBurst)}
	h.walkIn = frameWalk{skip: len(http2.ClientPreface), resets: func(http2.ErrCode) { h.clientReset() }}
	h.walkOut.resets = h.serverReset
	h.since.Store(int64(time.Since(c.srv.epoch)))
	h.authTimer = time.AfterFunc(c.idleTimeout(), h.endUnauthenticated)
	return h
}

// endUnauthenticated ends the connection if no request was accepted and none was in flight
// for the time that such a connection may be idle.
func (h *h2Conn) endUnauthenticated() {
	if h.accepted.Load() {
		return
	}
	left := h.c.idleTimeout()
	if h.running.Load() == 0 {
		left -= time.Since(h.c.srv.epoch) - time.Duration(h.since.Load())
	}
	if left > 0 {
		h.authTimer.Reset(left)
		return
	}
	if h.end(http2.ErrCodeNo) {
		h.c.srv.stats.unauthenticated.Inc()
	}
}

// answered notes the end of a request, and whether it was accepted.
func (h *h2Conn) answered(accepted bool) {
	if accepted && !h.accepted.Swap(true) {
		h.authTimer.Stop()
	}
	h.since.Store(int64(time.Since(h.c.srv.epoch)))
	h.running.Add(-1)
}

// clientReset counts a stream that the client has reset.
func (h *h2Conn) clientReset() {
	if !h.resets.Allow() && h.end(http2.ErrCodeEnhanceYourCalm) {
		h.c.srv.stats.h2Resets.Inc()
	}
}

// serverReset counts a stream that the server has reset if the client has caused it by
// breaking the protocol: its request is cancelled as by a reset of the client's own.
func (h *h2Conn) serverReset(code http2.ErrCode) {
	switch code {
	case http2.ErrCodeProtocol, http2.ErrCodeFlowControl, http2.ErrCodeStreamClosed, http2.ErrCodeFrameSize:
		h.clientReset()
	}
}

// end makes the library end the connection with code, and reports whether it was not ended
// before. A blocked Read returns.
func (h *h2Conn) end(code http2.ErrCode) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.ended, h.code = true, code
	_ = h.Conn.SetReadDeadline(socket.Past)
	return true
}

// failure returns the error with which Read ends the connection, or nil.
func (h *h2Conn) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		return nil
	}
	return http2.ConnectionError(h.code)
}

// deadline sets the time by which a partial frame must be complete, or removes it.
func (h *h2Conn) deadline() {
	partial := h.walkIn.partial()
	if partial == h.limited {
		return
	}
	h.limited = partial
	var until time.Time
	if partial {
		until = time.Now().Add(h.c.srv.set.Load().limits.HeaderTimeout)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		_ = h.Conn.SetReadDeadline(until)
	}
}

// Read implements net.Conn for the library, which reads headers and payloads of frames
// one by one.
func (h *h2Conn) Read(p []byte) (int, error) {
	// At the first Read the library has registered the connection: either Shutdown makes the
	// library drain it, or the flag is set.
	if !h.begun && h.c.srv.conns.Stopping() {
		return 0, net.ErrClosed
	}
	h.begun = true
	if err := h.failure(); err != nil {
		return 0, err
	}
	if len(h.buf) > 0 {
		n := copy(p, h.buf)
		h.buf = h.buf[n:]
		return n, nil
	}
	into := p
	if len(p) < len(h.space) {
		into = h.space[:]
	}
	h.deadline()
	n, err := h.Conn.Read(into)
	h.walkIn.feed(into[:n])
	if errors.Is(err, os.ErrDeadlineExceeded) && h.end(http2.ErrCodeProtocol) {
		h.c.srv.stats.h2Slow.Inc()
	}
	if ended := h.failure(); ended != nil {
		return 0, ended
	}
	if len(p) < len(h.space) {
		m := copy(p, h.space[:n])
		h.buf, n = h.space[m:n], m
	}
	return n, err
}

// Write implements net.Conn for the library.
func (h *h2Conn) Write(p []byte) (int, error) {
	h.walkOut.feed(p)
	return h.Conn.Write(p)
}

// RemoteAddr returns the client's address, also behind a proxy that has named it.
func (h *h2Conn) RemoteAddr() net.Addr {
	if !h.c.Client.IsValid() {
		return &net.UnixAddr{Net: "unix"}
	}
	return net.TCPAddrFromAddrPort(h.c.Client)
}
