package edge

import (
	"sync"
	"sync/atomic"
)

// requestGroup counts the requests over HTTP/2 that are being served. They may outlive their
// streams and connections, when work continues after the client has disconnected.
type requestGroup struct {
	n    atomic.Int64  // plus groupClosed, once no request may enter
	last chan struct{} // closed when the last request has left after that
	once sync.Once
}

const groupClosed = 1 << 62

func newRequestGroup() *requestGroup { return &requestGroup{last: make(chan struct{})} }

// enter counts a request. It fails after wait was called.
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

// wait closes the group to new requests, and waits until all have left.
func (r *requestGroup) wait() {
	if r.n.Or(groupClosed)&^groupClosed > 0 {
		<-r.last
	}
}
