package dax

import (
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Drain leaves this node out of the list of nodes if there is another one in it, goes on
// serving, and reports whether it is left out. Clients ask for the list about every four
// seconds and leave nodes that are not in it: after DrainTime few are left, for Shutdown to
// close. A sole node stays in the list, because some clients fail every request once the list
// is empty, although the node still serves.
func (s *Server) Drain() bool {
	s.draining.Store(true)
	return slices.ContainsFunc(s.set.Load().allMembers(s.session), func(m Member) bool { return !m.Self && len(m.Addresses) > 0 })
}

// DrainTime is how long it takes clients to leave a node that is not in the list.
const DrainTime = 10 * time.Second

// leaveTime is how long Shutdown takes to end the connections of clients, unless they have
// all left before.
const leaveTime = time.Second

// departure spreads the end of the connections over leaveTime.
//
// A client learns that a pooled connection has ended only when its next request fails, and
// tries that again over another pooled connection, about twice. If all connections ended at
// once, clients with several of them would run out of attempts before they open a new one,
// and report a reset instead of a refused connection. So connections end one after the other,
// each right after a reply: the next attempt finds one that still works, until none is left.
type departure struct {
	begun time.Duration // by the server's clock
	open  int64         // connections at that time
	ended atomic.Int64
}

// add reports whether the connection that has just been answered may end now.
func (d *departure) take(now time.Duration) bool {
	allowed := 1 + int64(float64(d.open)*float64(now-d.begun)/float64(leaveTime))
	if d.ended.Add(1) <= allowed {
		return true
	}
	d.ended.Add(-1)
	return false
}

// ends reports whether a connection that has become idle is to be closed.
func (s *Server) ends(answered bool) bool {
	d := s.departure.Load()
	if d == nil {
		return false
	}
	return s.conns.Closing() || answered && d.take(s.clock())
}

// Shutdown accepts no more connections and answers what arrives on the others, which it closes
// one after the other, the idle ones at last. It returns when all are gone. When ctx ends
// first, contexts of requests are cancelled and their connections cut, and its error is
// returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.conns.Stop()
	s.departure.CompareAndSwap(nil, &departure{begun: s.clock(), open: int64(s.Open())})
	done := make(chan struct{})
	go func() {
		s.conns.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(leaveTime):
	}
	s.conns.CloseIdle(lastLook)
	return s.conns.Finish(ctx, done)
}

// lastLook is how long Shutdown waits for a request on an idle connection: one that has
// arrived already is still read, and answered.
const lastLook = time.Millisecond
