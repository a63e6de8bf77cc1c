package edge

import (
	"sync"
	"sync/atomic"
)

// running counts the requests over HTTP/2 that are being served: they may outlive their
// streams and connections, where what has to be finished goes on without its client.
type running struct {
	n    atomic.Int64  // and over, once nobody is let in any more
	last chan struct{} // closed when the last one has left after that
	once sync.Once
}

const over = 1 << 62

func newRunning() *running { return &running{last: make(chan struct{})} }

// enter counts a request in. It fails if nobody waits for it any more.
func (r *running) enter() bool {
	if r.n.Add(1) < over {
		return true
	}
	r.leave()
	return false
}

func (r *running) leave() {
	if r.n.Add(-1) == over {
		r.once.Do(func() { close(r.last) })
	}
}

// wait lets nobody in any more, and waits until all have left.
func (r *running) wait() {
	if r.n.Or(over)&^over > 0 {
		<-r.last
	}
}
