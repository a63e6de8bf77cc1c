package edge

import (
	"io"
	"time"
)

// conclude ends an exchange whose body or answer was streamed: who still reads is
// shut out, the answer is sent or cut, and what is left of the body dropped. False
// means that the connection is to be closed.
func (c *conn) conclude(x *Exchange) bool {
	if x.body != nil {
		x.body.finish()
	}
	c.Armed = 0 // whoever was woken was so by another deadline
	whole := c.complete(x)
	x.repay()
	took := time.Since(x.start)
	goesOn := whole && !x.closing && c.drop(x)
	x.account(x.in.size(), x.sent, took)
	c.now = time.Since(c.srv.epoch)
	c.linger = whole && !goesOn && (x.in.more() || !x.body.wasRead())
	return goesOn
}

// complete sends the answer if that has not begun, and says whether all of it
// was sent.
func (c *conn) complete(x *Exchange) bool {
	o := &x.answer
	switch {
	case x.raised != nil:
		x.raised.account(x)
		return false
	case !o.begun:
		if e := x.body.refusal(); e != nil {
			x.refusal(e)
		}
		x.closing = c.closes(x) || !x.body.spare()
		return c.send(x)
	case o.whole():
		return true
	}
	c.srv.stats.unsent.Inc()
	c.broken = true
	return false
}

// drop reads what the handler left of the body, and says whether the next request
// can be read then. Nobody waits for this, so that a server that stops does not
// either.
func (c *conn) drop(x *Exchange) bool {
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
