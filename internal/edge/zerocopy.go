package edge

import (
	"errors"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/pages"
)

// zeroCopySend holds the pages that a connection sends without copying.
type zeroCopySend struct {
	head, body []byte
	err        error
	once       func(fd uintptr) bool // conn.sendZeroCopyOnce, made at the first gift
}

// sendPages is pages.Send, except in tests of systems that can't.
var sendPages = pages.Send

// sendZeroCopy sends head, and body without copying it. Body must be in pages that are kept
// until they are sent. Like write it gives up a client that reads nothing for the write
// timeout, or too slowly on average.
func (c *conn) sendZeroCopy(head, body []byte) error {
	g := &c.zeroCopy
	if g.once == nil {
		g.once = c.sendZeroCopyOnce
	}
	g.head, g.body = head, body
	defer func() { g.head, g.body = nil, nil }()
	for taken := -1; len(g.head)+len(g.body) > 0; {
		if err := c.armWrite(taken); err != nil {
			return err
		}
		before := c.x.sent
		if err := c.Raw.Write(g.once); err != nil {
			return err
		}
		if errors.Is(g.err, pages.ErrUnsupported) {
			return c.write(g.head, g.body, nil)
		}
		if g.err != nil {
			return g.err
		}
		taken = c.x.sent - before
	}
	c.delivery.end(time.Since(c.srv.epoch), 0)
	return nil
}

// sendZeroCopyOnce is called by Raw.Write at first and whenever the socket may have room,
// and returns true when there was some.
func (c *conn) sendZeroCopyOnce(fd uintptr) bool {
	g := &c.zeroCopy
	var n int
	if n, g.err = sendPages(int(fd), g.head, g.body); g.err == syscall.EAGAIN {
		return false
	}
	c.x.sent += n
	h := min(n, len(g.head))
	g.head, g.body = g.head[h:], g.body[n-h:]
	return true
}
