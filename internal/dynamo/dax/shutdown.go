package dax

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Drain removes this node from the list of nodes if there is another one in it, and reports
// whether it has. The node continues to serve. Clients fetch the list about every four
// seconds and disconnect from nodes that aren't in it, so that after DrainTime few are left
// for Shutdown to close. A sole node remains in the list, because some clients fail every
// request once the list is empty.
func (s *Server) Drain() bool {
	s.draining.Store(true)
	return slices.ContainsFunc(s.set.Load().allMembers(s.session), func(m Member) bool { return !m.Self && len(m.Addresses) > 0 })
}

// DrainTime is the time in which clients disconnect from a node that isn't in the list.
const DrainTime = 10 * time.Second

// spreadTime is the maximum time over which Shutdown spreads the end of the connections.
const spreadTime = time.Second

// closeSchedule spreads the end of the connections over spreadTime.
//
// A client detects that a pooled connection has ended only when its next request fails. It
// retries about twice over other pooled connections. If all connections ended at once,
// clients with several of them would run out of attempts before they open a new one, and
// report a reset instead of a refused connection. So connections end one after the other,
// each right after a reply: the next attempt uses a working one until none is left.
type closeSchedule struct {
	begun time.Duration // by the server's clock
	open  int64         // connections at that time
	ended atomic.Int64
}

// take reports whether the connection that has just been answered may end now.
func (d *closeSchedule) take(now time.Duration) bool {
	allowed := 1 + int64(float64(d.open)*float64(now-d.begun)/float64(spreadTime))
	if d.ended.Add(1) <= allowed {
		return true
	}
	d.ended.Add(-1)
	return false
}

// ends reports whether a connection that has become idle must be closed.
func (s *Server) ends(answered bool) bool {
	d := s.closing.Load()
	if d == nil {
		return false
	}
	return s.conns.Closing() || answered && d.take(s.clock())
}

// Shutdown stops accepting connections and serves the requests that still arrive on the
// others, which it closes one after the other, idle ones last. It returns when all are
// closed. If ctx ends first, it cancels the contexts of requests, cuts their connections and
// returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.conns.Stop()
	s.closing.CompareAndSwap(nil, &closeSchedule{begun: s.clock(), open: int64(s.Open())})
	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(spreadTime):
	}
	s.conns.CloseIdle(finalWait)
	return s.conns.Finish(ctx, done)
}

// finalWait is how long Shutdown waits for a request on an idle connection, so that one that
// has already arrived is read and answered.
const finalWait = time.Millisecond
