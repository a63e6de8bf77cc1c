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
	conns   map[*h2Conn]struct{}
	timer   *time.Timer
}

// h2Tick is the interval. A leader that blocks delays other requests of its connection by at
// most twice as long.
const h2Tick = 10 * time.Millisecond

func (t *h2Set) add(h *h2Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conns == nil {
		t.conns = map[*h2Conn]struct{}{}
		t.timer = time.AfterFunc(time.Hour, t.tick)
		t.timer.Stop()
	}
	t.conns[h] = struct{}{}
}

func (t *h2Set) remove(h *h2Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conns, h)
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
		t.timer.Reset(h2Tick)
		return
	}
	t.ticking.Store(false)
	if t.look(false) { // one has begun before ticking was reset
		t.watch()
	}
}

// look reports whether any leader serves or writes.
func (t *h2Set) look(replace bool) (busy bool) {
	for h := range t.conns {
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
	for h := range t.conns {
		h.drain()
	}
}

// slowClients lists the streams that wait for their clients.
func (t *h2Set) slowClients(now time.Duration, yield func(inflight.Client)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for h := range t.conns {
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
