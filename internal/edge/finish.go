package edge

import (
	"io"
	"time"
)

// finishStream ends an exchange whose body or answer was streamed: it stops readers of the
// body, sends or cuts the answer, and discards the rest of the body. It returns false if the
// connection is to be closed.
func (c *conn) finishStream(x *Exchange) bool {
	if x.body != nil {
		x.body.finish()
	}
	c.Armed = 0 // the deadline was moved to wake a reader
	whole := c.finishAnswer(x)
	x.returnLoan()
	took := time.Since(x.start)
	keepOpen := whole && !x.closing && c.discardBody(x)
	x.account(x.in.size(), x.sent, took)
	c.now = time.Since(c.srv.epoch)
	c.linger = whole && !keepOpen && (x.in.hasMore() || !x.body.atEnd())
	return keepOpen
}

// finishAnswer sends the answer if it has not begun, and reports whether all of it was sent.
func (c *conn) finishAnswer(x *Exchange) bool {
	o := &x.answer
	switch {
	case x.upgraded != nil:
		x.upgraded.account(x)
		return false
	case !o.begun && x.Reply.Hangup:
		// It ends like a broken answer.
	case !o.begun:
		if e := x.body.refusal(); e != nil {
			x.refusal(e)
		}
		x.closing = c.willClose(x) || !x.body.discardable()
		return c.send(x)
	case o.whole():
		return true
	}
	c.srv.stats.unsent.Inc()
	c.broken = true
	return false
}

// discardBody reads the rest of the body, and reports whether the next request
// can be read then. The connection is idle meanwhile, so that a server that stops does not
// wait for it.
func (c *conn) discardBody(x *Exchange) bool {
	b := x.connBody()
	if b == nil || x.body.err == io.EOF {
		return true
	}
	if !c.SetIdle() {
		return false
	}
	b.woken.Store(false)
	whole := !c.srv.conns.Closing() && x.body.drop(x.out[:cap(x.out)])
	return c.SetActive() && whole
}
