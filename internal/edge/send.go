package edge

import (
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
)

// write sends up to three pieces, usually in one system call. A socket's buffer usually has
// room, so the deadline is only set once it has not.
func (c *conn) write(a, b, d []byte) error {
	x := c.x
	if c.FD >= 0 && len(b) == 0 {
		n, err := socket.Write(int(c.FD), a)
		x.sent += max(n, 0)
		if n == len(a) {
			return nil
		}
		if err != nil && err != syscall.EAGAIN {
			return err
		}
		a = a[max(n, 0):]
	}
	x.vec = [3][]byte{a, b, d}
	x.left = x.vec[:1]
	if len(b) > 0 {
		x.left = x.vec[:]
	}
	return c.push(&x.left)
}

// push sends the rest. It gives up a client that has read nothing of it for the write
// timeout, or that reads too slowly on average.
func (c *conn) push(left *net.Buffers) error {
	n := -1
	for len(*left) > 0 {
		err := c.armWrite(n)
		if err != nil {
			return err
		}
		n, err = c.writeSome(left)
		c.x.sent += n
		if err != nil && (n == 0 || c.Secure || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	now := time.Since(c.srv.epoch)
	if c.x.answer.begun { // otherwise nothing follows that the client could be too slow for
		return c.paced(n, now)
	}
	c.delivery.end(now, n)
	return nil
}

// tlsPiece is the maximum size of a write to TLS: a write that reaches its deadline can't be
// continued, so each needs enough time.
const tlsPiece = 64 << 10

// writeSome writes pieces of left, and removes them.
func (c *conn) writeSome(left *net.Buffers) (int, error) {
	if !c.Secure {
		n, err := left.WriteTo(c.NC)
		return int(n), err
	}
	first := &(*left)[0]
	n, err := c.NC.Write((*first)[:min(len(*first), tlsPiece)])
	if *first = (*first)[n:]; len(*first) == 0 {
		*left = (*left)[1:]
	}
	return n, err
}

// armWrite ensures that at least half of the write timeout is left for waiting. taken is how
// many bytes the client has read since the last wait of the same write; negative if there
// was none. It fails if the client reads too slowly.
func (c *conn) armWrite(taken int) error {
	now, limit := time.Since(c.srv.epoch), c.srv.set.Load().limits.WriteTimeout
	if err := c.paced(taken, now); err != nil {
		return err
	}
	c.waits = now
	c.delivery.begin(now)
	if left := c.armedWrite - now; left < limit/2 || left > limit {
		c.armedWrite = now + limit
		_ = c.NC.SetWriteDeadline(c.srv.epoch.Add(c.armedWrite))
	}
	if c.srv.hard.Err() != nil {
		return net.ErrClosed // cut ran before the deadline was set again
	}
	if c.delivery.cut.Load() {
		return errSlowClient
	}
	return nil
}

// paced accounts for a wait before which armWrite was called: the client has read so many
// bytes. Negative if there was no wait.
func (c *conn) paced(taken int, now time.Duration) error {
	if taken >= 0 {
		c.delivery.end(now, taken)
	}
	if taken >= 0 && !c.x.keepsPace(taken, now-c.waits, c.srv.set.Load().limits.WriteTimeout) {
		return errSlowClient
	}
	return nil
}

var errSlowClient = errors.New("edge: the client takes its answer too slowly")

// begin sends the head of a streamed answer, and the first piece if there is one.
func (c *conn) begin(o *Outgoing, length int64, first []byte) error {
	x := o.x
	x.closing = c.willClose(x) || x.body != nil && x.body.broken()
	if b := x.connBody(); b != nil && b.expectsContinue {
		x.closing = true // the client may still send the body or not
	}
	switch {
	case o.bodiless:
	case length < 0 && x.Request.Minor > 0:
		o.chunked = true
	case length < 0: // the end of the connection is the end of the body
		x.closing = true
	}
	x.out = x.appendHead(x.out[:0], length, o.chunked)
	if len(first) == 0 {
		return c.write(x.out, nil, nil)
	}
	return c.appendPiece(o, first)
}

// piece sends a piece of a streamed body, as a chunk where there are chunks.
func (c *conn) piece(o *Outgoing, p []byte) error {
	if !o.chunked {
		return c.write(p, nil, nil)
	}
	o.x.out = o.x.out[:0]
	return c.appendPiece(o, p)
}

// appendPiece sends a piece behind the bytes in the exchange's out.
func (c *conn) appendPiece(o *Outgoing, p []byte) error {
	x, tail := o.x, []byte(nil)
	if o.chunked {
		x.out, tail = append(strconv.AppendInt(x.out, int64(len(p)), 16), crlf...), crlf
	}
	if len(p) > maxJoined || x.memoryShort() && len(x.out)+len(p)+len(tail) > cap(x.out) {
		return c.write(x.out, p, tail)
	}
	x.out = append(append(x.out, p...), tail...)
	return c.write(x.out, nil, nil)
}

var crlf = []byte("\r\n")

// end sends the last chunk.
func (c *conn) end(o *Outgoing) error {
	if !o.chunked {
		return nil
	}
	x := o.x
	x.out = append(x.out[:0], "0\r\n"...)
	x.out = append(appendFields(x.out, o.fields), crlf...)
	return c.write(x.out, nil, nil)
}

// interim sends an answer before the final one.
func (c *conn) interim(x *Exchange, status int, h http1.Fields) error {
	if status == 100 {
		if b := x.connBody(); b != nil {
			return b.sendContinue()
		}
		return nil
	}
	x.interimMu.Lock()
	defer x.interimMu.Unlock()
	x.out = append(appendFields(http1.AppendStatus(x.out[:0], status), h), crlf...)
	return c.write(x.out, nil, nil)
}

// appendFields appends fields, except invalid ones.
func appendFields(dst []byte, h http1.Fields) []byte {
	for i := range h {
		if f := &h[i]; ascii.IsToken(f.Name) && http1.ValidValue(f.Value) {
			dst = append(append(dst, f.Name...), ": "...)
			dst = append(append(dst, f.Value...), crlf...)
		}
	}
	return dst
}
