package dax

import (
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/dax/fault"
)

// The parts of a message, in order.
const (
	inPreamble uint8 = iota
	inHead           // the service and the method
	inArguments
)

// headBytes is the maximum length of a head: integers of up to nine bytes each.
const headBytes = 18

// proceed processes the messages in the buffer. It returns false if the connection must be
// closed.
func (c *conn) proceed() bool {
	k := c.k
	for {
		whole, ok := c.advance()
		if !ok {
			return false
		}
		if !whole {
			return k.in.have < len(k.in.buf) || k.in.off > 0 || c.enlarge()
		}
		if k.in.off == k.in.have {
			return true
		}
		c.begin()
	}
}

// enlarge makes space for more of a request. Only authenticated clients get it, so that
// others can't use up the budget.
func (c *conn) enlarge() bool {
	k := c.k
	if e := c.auth.check(k.set, k.now); e != nil {
		c.srv.metrics.denied.Inc()
		return c.refuse(e)
	}
	if k.in.grow(&c.srv.room, k.set.limits.BufferedBytes) {
		return true
	}
	c.srv.metrics.crowded.Inc()
	return c.refuse(fault.New("ThrottlingException",
		"There is no room for a request of this size now: other large requests are under way. Try again later."))
}

// advance continues to scan the current message, and processes it once it is complete.
func (c *conn) advance() (whole, ok bool) {
	k := c.k
	for {
		b := k.in.buf[k.in.off:k.in.have]
		if k.phase == inPreamble && wrongMagic(b) {
			c.srv.metrics.invalidPreambles.Inc()
			return false, false
		}
		end, done, err := k.scan.Scan(b[k.head:])
		if err != nil {
			return false, c.malformed(err)
		}
		end += k.head
		if !done {
			return false, c.bounded(end)
		}
		switch k.phase {
		case inPreamble:
			return true, c.handlePreamble(b[:end])
		case inHead:
			if !c.named(b[:end]) {
				return false, false
			}
		default:
			if !c.bounded(end) {
				return false, false
			}
			k.in.off += end
			return true, c.ask(b[k.head:end], end)
		}
	}
}

// bounded reports whether the message is within its size limit. end is its minimum size. If
// it isn't, the client has been sent an error.
func (c *conn) bounded(end int) bool {
	k := c.k
	switch {
	case k.phase == inPreamble:
		return end <= preambleBytes
	case k.phase == inHead:
		return end <= headBytes
	case end > k.set.limits.RequestBytes:
		c.srv.metrics.oversized.Inc()
		return c.refuse(fault.Invalid("The request is larger than %d bytes", k.set.limits.RequestBytes))
	}
	return true
}

// expect prepares for the next message.
func (k *call) expect(hasPreamble bool) {
	k.head, k.method = 0, nil
	if k.phase = inHead; !hasPreamble {
		k.phase = inPreamble
		k.scan.Begin(preambleItems)
		return
	}
	k.scan.Begin(headItems)
}

// handlePreamble processes the preamble.
func (c *conn) handlePreamble(b []byte) bool {
	agent, framed, err := readPreamble(b)
	if err != nil {
		return c.malformed(err)
	}
	c.agent = append([]byte(nil), agent...)
	c.hasPreamble, c.framed = true, framed
	c.k.in.off += len(b)
	return true
}

// named processes a head. A request with an unknown method ends the connection, because the
// next request can't be found.
func (c *conn) named(head []byte) bool {
	r := cbor.NewReader(head)
	service, id := r.Int(), r.Int()
	if r.Err() == nil && service != serviceID {
		r.Fail("service %d", service)
	}
	if err := r.Close(); err != nil {
		return c.malformed(err)
	}
	k := c.k
	if k.method = c.srv.methods.find(id); k.method == nil {
		return c.refuse(fault.NotImplemented("Kasoku does not implement the DAX method %d", id))
	}
	k.phase, k.head = inArguments, len(head)
	k.scan.Begin(k.method.args)
	return true
}

// ask serves a complete request of size bytes, including the head. A request that took more
// than one read is served as of now, because settings and permissions may have changed since
// it began.
func (c *conn) ask(args []byte, size int) bool {
	if k := c.k; k.late {
		k.now, k.set = time.Now(), c.srv.set.Load()
	}
	if c.k.method.id == idAuthorizeConnection {
		c.authorize(args)
		return true
	}
	return c.answer(args, size)
}

// malformed handles bytes whose end can't be determined: the connection is closed without an
// error reply, because the client couldn't assign one to a request.
func (c *conn) malformed(err error) bool {
	c.srv.metrics.malformed.Inc()
	c.srv.log().Debug("a client of the DAX listener sent a malformed request", "client", c.Client, "agent", string(c.agent), "error", err)
	return false
}

// tooSlow handles a message that has timed out.
func (c *conn) tooSlow() {
	c.srv.metrics.slow.Inc()
	if c.hasPreamble {
		c.refuse(fault.Invalid("The request took too long to arrive"))
	}
}

// refuse answers an incomplete request with an error, and returns false: the connection must
// be closed.
func (c *conn) refuse(e *fault.Error) bool {
	k := c.k
	k.start(nil)
	k.fail(e)
	c.finish(k.in.have - k.in.off)
	c.linger = true
	return false
}
