package edge

import (
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/socket"
)

// delivery measures how a client reads the answer of one exchange: the time spent waiting
// for the client, and the bytes it has read. The goroutine that writes calls begin and end;
// others read.
type delivery struct {
	since  atomic.Int64 // when the wait began, counted from the server's epoch; 0: none
	waited atomic.Int64 // in earlier waits
	taken  atomic.Int64 // bytes
	cut    atomic.Bool  // the answer is to be cut
}

// reset prepares for the next exchange.
func (t *delivery) reset() {
	t.since.Store(0)
	t.waited.Store(0)
	t.taken.Store(0)
}

func (t *delivery) begin(now time.Duration) { t.since.Store(int64(max(now, 1))) }

// end ends the current wait, if there is one, in which the client has read n bytes.
func (t *delivery) end(now time.Duration, n int) {
	t.taken.Add(int64(n))
	if since := t.since.Swap(0); since != 0 {
		t.waited.Add(int64(now) - since)
	}
}

// client describes a client that is waited for; ok is false if none is.
func (t *delivery) client(now time.Duration) (inflight.Client, bool) {
	since := t.since.Load()
	if since == 0 {
		return inflight.Client{}, false
	}
	return inflight.Client{Taken: t.taken.Load(), Waited: time.Duration(t.waited.Load() + int64(now) - since)}, true
}

// slowClients lists the clients that are waited for, so that the budget can cut the slowest.
func (s *Server) slowClients(yield func(inflight.Client)) {
	now := time.Since(s.epoch)
	for _, lc := range s.conns.Conns() {
		c := lc.Protocol().(*conn)
		if client, ok := c.delivery.client(now); ok {
			client.Cut = c.cutSlow
			yield(client)
		}
	}
	s.h2.slowClients(now, yield)
}

// cutSlow ends the answer that the connection sends, and with it the connection.
func (c *conn) cutSlow() {
	c.delivery.cut.Store(true) // before the deadline: armWrite sees one of the two
	_ = c.Sock.SetWriteDeadline(socket.Past)
}
