package edge

import (
	"sync"
	"sync/atomic"
)

// requestGroup counts the requests over HTTP/2 that are being served: they may outlive their
// streams and connections, where what has to be finished goes on without its client.
type requestGroup struct {
	n    atomic.Int64  // and over, once nobody is let in any more
	last chan struct{} // closed when the last one has left after that
	once sync.Once
}

const groupClosed = 1 << 62

func newRequestGroup() *requestGroup { return &requestGroup{last: make(chan struct{})} }

// enter counts a request in. It fails if nobody waits for it any more.
func (r *requestGroup) enter() bool {
	if r.n.Add(1) < groupClosed {
		return true
	}
	r.leave()
	return false
}

func (r *requestGroup) leave() {
	if r.n.Add(-1) == groupClosed {
		r.once.Do(func() { close(r.last) })
	}
}

// wait lets nobody in any more, and waits until all have left.
func (r *requestGroup) wait() {
	if r.n.Or(groupClosed)&^groupClosed > 0 {
		<-r.last
	}
}
