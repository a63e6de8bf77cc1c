package edge

import (
	"io"
	"time"
)

// finishStream ends an exchange whose body or answer was streamed: who still reads is
// shut out, the answer is sent or cut, and what is left of the body dropped. False
// means that the connection is to be closed.
func (c *conn) finishStream(x *Exchange) bool {
	if x.body != nil {
		x.body.finish()
	}
	c.Armed = 0 // whoever was woken was so by another deadline
	whole := c.finishAnswer(x)
	x.returnLoan()
	took := time.Since(x.start)
	goesOn := whole && !x.closing && c.discardBody(x)
	x.account(x.in.size(), x.sent, took)
	c.now = time.Since(c.srv.epoch)
	c.linger = whole && !goesOn && (x.in.hasMore() || !x.body.atEnd())
	return goesOn
}

// finishAnswer sends the answer if that has not begun, and says whether all of it
// was sent.
func (c *conn) finishAnswer(x *Exchange) bool {
	o := &x.answer
	switch {
	case x.upgraded != nil:
		x.upgraded.account(x)
		return false
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

// discardBody reads what the handler left of the body, and says whether the next request
// can be read then. Nobody waits for this, so that a server that stops does not
// either.
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
