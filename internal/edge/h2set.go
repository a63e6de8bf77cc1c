package edge

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/inflight"
)

// h2Set holds the connections of a server that speak HTTP/2. While any of their leaders serve
// or write it looks at them at intervals, and starts another leader for each one that has
// done the same thing for an interval.
type h2Set struct {
	ticking atomic.Bool
	mu      sync.Mutex // taken before the mu of a connection
	conns   []*h2Conn  // each has its index
	timer   *time.Timer
}

// The interval, and how much is added for each connection, so that many of them don't cost more
// CPU. A leader that blocks delays other requests of its connection by at most two intervals.
const (
	h2Tick        = 10 * time.Millisecond
	h2TickPerConn = 2 * time.Microsecond
)

func (t *h2Set) add(h *h2Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Hour, t.tick)
		t.timer.Stop()
	}
	h.index = len(t.conns)
	t.conns = append(t.conns, h)
}

func (t *h2Set) remove(h *h2Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.conns) - 1
	t.conns[h.index] = t.conns[last]
	t.conns[h.index].index = h.index
	t.conns[last] = nil
	t.conns = t.conns[:last]
}

// watch is called when a leader begins to serve or to write.
func (t *h2Set) watch() {
	if !t.ticking.Load() && t.ticking.CompareAndSwap(false, true) {
		t.timer.Reset(h2Tick)
	}
}

// tick starts another leader where one has blocked.
func (t *h2Set) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.look(true) {
		t.timer.Reset(h2Tick + time.Duration(len(t.conns))*h2TickPerConn)
		return
	}
	t.ticking.Store(false)
	if t.look(false) { // one has begun before ticking was reset
		t.watch()
	}
}

// look reports whether any leader serves or writes.
func (t *h2Set) look(replace bool) (busy bool) {
	for _, h := range t.conns {
		turn := h.turn.Load()
		if turn%2 == 0 {
			continue
		}
		busy = true
		if !replace {
			break
		}
		if turn == h.seen && h.turn.CompareAndSwap(turn, turn+1) {
			go h.lead()
		}
		h.seen = turn
	}
	return busy
}

// drain lets all connections finish their requests and end.
func (t *h2Set) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.conns {
		h.drain()
	}
}

// slowClients lists the streams that wait for their clients.
func (t *h2Set) slowClients(now time.Duration, yield func(inflight.Client)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.conns {
		h.mu.Lock()
		for _, s := range h.queue {
			if client, ok := s.delivery.client(now); ok {
				client.Cut = s.cutSlow
				yield(client)
			}
		}
		h.mu.Unlock()
	}
}
