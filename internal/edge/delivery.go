package edge

import (
	"sync"
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
	s.streams.each(func(st *h2Stream) {
		if client, ok := st.delivery.client(now); ok {
			client.Cut = st.cutSlow
			yield(client)
		}
	})
}

// cutSlow ends the answer that the connection sends, and with it the connection.
func (c *conn) cutSlow() {
	c.delivery.cut.Store(true) // before the deadline: armWrite sees one of the two
	_ = c.Sock.SetWriteDeadline(socket.Past)
}

// cutSlow resets the stream.
func (s *h2Stream) cutSlow() {
	s.delivery.cut.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		_ = s.rc.SetWriteDeadline(socket.Past)
	}
}

// detach is called at the end of the stream's request, after which the library must not be
// called for the stream.
func (s *h2Stream) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// streamSet holds the streams of HTTP/2 whose requests are in flight.
type streamSet struct {
	mu  sync.Mutex // a leaf
	all map[*h2Stream]struct{}
}

func (s *streamSet) add(st *h2Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*h2Stream]struct{}{}
	}
	s.all[st] = struct{}{}
}

func (s *streamSet) remove(st *h2Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, st)
}

func (s *streamSet) each(f func(*h2Stream)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for st := range s.all {
		f(st)
	}
}
