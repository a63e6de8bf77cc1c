package client

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
	"github.com/kasoku/kasoku/internal/socket"
)

// read reads replies until the connection is unusable, and returns the reason.
func (c *conn) read() error {
	for {
		var err error
		if c.raw == nil {
			err = c.readStream()
		} else if err = c.raw.Read(c.readable); err == nil {
			err = c.readErr
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case c.late():
			return errTimeout
		}
	}
}

// readStream reads from a connection without a raw socket.
func (c *conn) readStream() error {
	for {
		n, err := c.nc.Read(c.in.Room())
		if n > 0 {
			if err := c.deliver(n); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// readRaw is called by raw.Read, first at once and then whenever the socket may be readable;
// it returns true to end. As long as raw.Read has not returned, the runtime keeps a
// notification of new bytes from one wait to the next. So a read that did not fill its
// buffer need not be followed by another one that finds nothing, except while replies are
// owed: the end of the stream may have arrived together with the bytes, and is not notified
// twice.
func (c *conn) readRaw(fd uintptr) bool {
	for {
		room := c.in.Room()
		n, err := socket.Read(int(fd), room)
		switch {
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			c.readErr = err
			return true
		case n == 0:
			c.readErr = errEnded
			return true
		}
		if c.readErr = c.deliver(n); c.readErr != nil {
			return true
		}
		if n < len(room) && c.next == len(c.due) {
			return false
		}
	}
}

// deliver parses n bytes that were read and delivers them to the calls.
func (c *conn) deliver(n int) error {
	c.in.Filled(n)
	c.lastRead = int64(c.server.client.now())
	c.excused = false
	for {
		if c.valuing {
			value, whole, err := c.in.Data()
			if err != nil || !whole {
				return err
			}
			if err := c.endValue(value); err != nil {
				return err
			}
		}
		if more, err := c.nextReply(); err != nil || !more {
			return err
		}
	}
}

// nextReply parses the next line, or head of a binary reply. It returns false if that is not
// complete.
func (c *conn) nextReply() (bool, error) {
	if c.protocol == Binary {
		head, err := c.in.Head()
		if err != nil || head == nil {
			return false, err
		}
		return true, c.binaryReply(head)
	}
	line, err := c.in.Line()
	if err != nil || line == nil {
		return false, err
	}
	return true, c.textReply(line)
}

// frame returns the calls that the next reply is for: one, or all keys of a text get. If
// there are none, a reply is an error.
func (c *conn) frame() []*Call {
	if c.next == c.last {
		if c.next == len(c.due) {
			c.mu.Lock()
			c.due, c.sent = c.sent, c.due[:0]
			c.mu.Unlock()
			c.next = 0
		}
		frame, _ := headFrame(c.due[c.next:])
		c.last = c.next + len(frame)
	}
	return c.due[c.next:c.last]
}

// finish finishes the calls of the frame.
func (c *conn) finish(frame []*Call) {
	for i, x := range frame {
		r := Miss
		if x.isHit() {
			r = Hit
		}
		frame[i] = nil
		c.server.metrics.replies.Observe(time.Duration(c.lastRead - x.sent))
		x.finish(r)
	}
	c.next = c.last
	c.replied = true
	c.server.replied()
}

func garbled(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{wire.ErrGarbled}, args...)...)
}

// textReply handles a line of a reply.
func (c *conn) textReply(line []byte) error {
	frame := c.frame()
	r := &c.reply
	switch {
	case !r.Parse(line):
		return garbled("a line like %.60q", line)
	case len(frame) == 0:
		return garbled("%.60q, which was not requested", line)
	case frame[0].cmd.Op != wire.Get:
		return c.changed(frame, r)
	case r.Kind == wire.Value && r.Meta == (c.protocol == Meta):
		return c.value(frame, r)
	case r.Kind == wire.End && c.protocol == Text:
		shareValue(frame)
		c.finish(frame)
		return nil
	case r.Kind == wire.Miss && c.protocol == Meta:
		if r.Key != nil && !bytes.Equal(r.Key, frame[0].cmd.Key) {
			return garbled("a miss of the key %.60q, which was not requested", r.Key)
		}
		c.finish(frame)
		return nil
	case r.Kind >= wire.Error:
		return refused(r)
	}
	return garbled("%.60q to a get", line)
}

// value starts reading a value. A text server may answer the keys of a line in any order,
// and a key once or as often as it was requested.
func (c *conn) value(frame []*Call, r *wire.Reply) error {
	known := false
	c.receiver = nil
	for _, x := range frame {
		if bytes.Equal(x.cmd.Key, r.Key) {
			known = true
			if !x.found {
				c.receiver = x
				break
			}
		}
	}
	switch {
	case !known:
		return garbled("a value for the key %.60q, which was not requested", r.Key)
	case r.Size > c.server.client.cfg.MaxValue:
		return garbled("a value of %d bytes", r.Size)
	}
	into := c.discarded
	if c.receiver != nil {
		c.receiver.setValue(r)
		into = c.receiver.data
	}
	c.valuing = true
	c.in.Begin(into, int(r.Size))
	return nil
}

func (c *conn) endValue(value []byte) error {
	c.valuing = false
	if c.receiver != nil {
		c.receiver.data = value
	} else if cap(value) <= keepValue {
		c.discarded = value
	}
	switch {
	case c.protocol == Binary:
		return c.binaryBody(value)
	case c.protocol == Meta && c.receiver != nil:
		c.finish(c.due[c.next:c.last])
	}
	return nil
}

// shareValue copies a value to the other calls of the frame with the same key: a proxy may
// have fetched it once.
func shareValue(frame []*Call) {
	for _, x := range frame {
		if x.found {
			continue
		}
		for _, y := range frame {
			if y.found && bytes.Equal(x.cmd.Key, y.cmd.Key) {
				x.found, x.flags, x.cas, x.hasCAS = true, y.flags, y.cas, y.hasCAS
				x.data = append(x.data[:0], y.data...)
				break
			}
		}
	}
}

// outcomes maps replies to commands that change something to their results.
var outcomes = map[wire.Kind]StoreResult{
	wire.Stored: Stored, wire.Deleted: Stored, wire.Done: Stored, wire.NotStored: NotStored, wire.Exists: Exists, wire.NotFound: NotFound,
	wire.TooLarge: TooLarge,
}

// tooLarge is memcached's refusal of a large value, sent after the whole value was read.
var tooLarge = []byte("object too large")

// changed handles the reply to a command other than get.
func (c *conn) changed(frame []*Call, r *wire.Reply) error {
	x := frame[0]
	stores := x.cmd.Op == wire.Add || x.cmd.Op == wire.Set || x.cmd.Op == wire.CAS
	if outcome, ok := outcomes[r.Kind]; ok && isReplyOf(x.cmd.Op, r.Kind) {
		x.stored = outcome
	} else if r.Kind == wire.ServerError && stores {
		x.stored = StoreRefused
		if bytes.HasPrefix(r.Text, tooLarge) {
			x.stored = TooLarge
		}
	} else if r.Kind >= wire.Error {
		return refused(r)
	} else {
		return garbled("a reply of kind %d to a command of kind %d", r.Kind, x.cmd.Op)
	}
	c.finish(frame)
	return nil
}

// isReplyOf reports whether a reply that means success belongs to op.
func isReplyOf(op wire.Op, kind wire.Kind) bool {
	switch kind {
	case wire.Stored, wire.TooLarge:
		return op == wire.Add || op == wire.Set || op == wire.CAS
	case wire.Deleted:
		return op == wire.Delete
	case wire.Done:
		return op == wire.MarkStale
	}
	return true
}
