package balance

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// errUnhealthy is the cause of cancelling a request to a member whose checks fail.
var errUnhealthy = errors.New("the member's checks fail")

// headWaiters are the requests that wait for the head of a member's answer and could be
// retried at another member.
type headWaiters struct {
	mu  sync.Mutex // leaf
	set map[*headWaiter]struct{}
}

// headWaiter is one waiting request.
type headWaiter struct{ cancel context.CancelCauseFunc }

func (v *headWaiters) add(cancel context.CancelCauseFunc) *headWaiter {
	w := &headWaiter{cancel}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.set == nil {
		v.set = map[*headWaiter]struct{}{}
	}
	v.set[w] = struct{}{}
	return w
}

// remove ends a wait: w is not cancelled afterwards.
func (v *headWaiters) remove(w *headWaiter) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.set, w)
}

// cancelAll cancels all waiting requests, which are then retried at another member.
func (v *headWaiters) cancelAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for w := range v.set {
		w.cancel(errUnhealthy)
	}
	clear(v.set)
}

// awaitHead sends the request to m and waits for the head of the answer. If m's checks fail
// meanwhile and another member may be tried and is available, the wait is cancelled. An
// answer that has begun is not affected.
func (r *request) awaitHead(m *member, permit origin.Permit) (*origin.Inbound, *origin.Fault) {
	if r.t.cfg.Check.Path == "" || r.attempts >= r.maxMembers() || !r.mayRepeat() {
		return m.exchange(r.ctx, r.q, permit, nil)
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	w := m.waiters.add(cancel)
	in, f := m.exchange(ctx, r.q, permit, func() { cancel(nil) })
	m.waiters.remove(w)
	if context.Cause(ctx) != errUnhealthy {
		return in, f
	}
	discard(in) // its body ends with ctx
	return nil, &origin.Fault{Origin: m.name, Kind: origin.Reset, Reached: true, Attempts: 1, Err: errUnhealthy}
}

// hasOther reports whether a member other than m is available.
func (g *Group) hasOther(m *member) bool {
	now := time.Now()
	return slices.ContainsFunc(g.table.Load().members, func(o *member) bool { return o != m && o.available(now) })
}
