package edge

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
)

// connBody reads the body of a request on an HTTP/1 connection. It belongs to the goroutine
// that holds the mutex of the incoming around it.
type connBody struct {
	x       *Exchange
	left    int64 // of an announced length
	chunked bool
	whole   bool
	chunks  http1.Chunked
	pace    pace
	woken   atomic.Bool

	// expectsContinue is set while the client waits for "100 Continue". It is guarded by
	// x.interimMu, as is the start of the answer, after which it no longer changes.
	expectsContinue bool
}

// openBody prepares for the handler to read the body of the head just parsed.
func (c *conn) openBody(x *Exchange) {
	b := &connBody{x: x, left: x.Request.ContentLength, chunked: x.Request.Chunked, pace: newPace(x.set.limits.BodyTimeout)}
	b.expectsContinue = x.Request.Expect100 && x.in.have == x.in.pos
	if b.chunked {
		b.chunks.Reset(int64(x.set.limits.BodyBytes))
	}
	x.body = newIncoming(x.Request.ContentLength, b)
}

func (b *connBody) trailer() http1.Fields { return b.chunks.Trailer() }

func (b *connBody) wake() {
	b.woken.Store(true)
	_ = b.x.conn.Sock.SetReadDeadline(socket.Past)
}

func (b *connBody) read(p []byte) (int, error) {
	if b.chunked {
		return b.readChunks(p)
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	in := &b.x.in
	p = p[:min(int64(len(p)), b.left)]
	n, err := copy(p, in.buf[in.pos:in.have]), error(nil)
	in.pos += n
	if n == 0 {
		n, err = b.receive(p)
	}
	b.left -= int64(n)
	in.wire += n
	return n, err
}

// readChunks decodes chunks from the exchange's buffer.
func (b *connBody) readChunks(p []byte) (int, error) {
	in := &b.x.in
	for !b.whole {
		src := in.buf[in.pos:min(in.have, in.pos+len(p))]
		if len(src) == 0 {
			in.rewind()
			n, err := b.receive(in.buf[in.have:])
			if err != nil {
				return 0, err
			}
			in.have += n
			continue
		}
		data, n, done, err := b.chunks.Decode(p[:0], src)
		in.pos += n
		in.wire += n
		b.whole = done
		if err != nil || len(data) > 0 {
			return len(data), err
		}
	}
	return 0, io.EOF
}

// receive waits for bytes from the client.
func (b *connBody) receive(p []byte) (int, error) {
	c, hard := b.x.conn, b.x.srv.hard
	if err := b.sendContinue(); err != nil {
		return 0, err
	}
	for {
		began := time.Since(c.srv.epoch)
		if left := c.Armed - began; left < b.pace.credit/2 || left > b.pace.credit {
			c.Arm(began + b.pace.credit)
		}
		// wake and cut set their flag before they move the deadline.
		if b.woken.Load() {
			return 0, errWoken
		}
		if hard.Err() != nil {
			return 0, net.ErrClosed
		}
		n, err := c.NC.Read(p)
		now := time.Since(c.srv.epoch)
		b.pace.account(n, now-began, minPace)
		switch {
		case n > 0:
			return n, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, io.ErrUnexpectedEOF
		case b.woken.Load():
			return 0, errWoken
		case c.Kicked():
			return 0, net.ErrClosed
		case now >= c.Armed:
			return 0, errTooSlow
		}
		c.Arm(c.Armed) // an older deadline, moved too late
	}
}

var errTooSlow = &http1.Error{Status: http.StatusRequestTimeout, Reason: "request took too long to arrive"}

// connBody returns the body of this exchange if it is read from an HTTP/1 connection.
func (x *Exchange) connBody() *connBody {
	if x.body == nil {
		return nil
	}
	b, _ := x.body.from.(*connBody)
	return b
}

// sendContinue sends "100 Continue" to a client that waits for it.
func (b *connBody) sendContinue() error {
	x := b.x
	x.interimMu.Lock()
	defer x.interimMu.Unlock()
	if !b.expectsContinue || x.answer.begun {
		return nil
	}
	b.expectsContinue = false
	return x.conn.write(http1.Continue, nil, nil)
}

// discardable implements bodySource. A client that waits for "100 Continue" may send the
// body or not, so its next bytes are ambiguous.
func (b *connBody) discardable() bool { return !b.expectsContinue && b.left <= maxDiscarded }
