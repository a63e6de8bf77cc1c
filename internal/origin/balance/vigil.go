package balance

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// errDead is why a request was taken back from a member.
var errDead = errors.New("the member's checks fail")

// vigil is who waits for the head of a member's answer and could ask another one.
type vigil struct {
	mu      sync.Mutex // leaf
	waiting map[*wait]struct{}
}

// wait is one request that waits.
type wait struct{ cancel context.CancelCauseFunc }

func (v *vigil) enter(cancel context.CancelCauseFunc) *wait {
	w := &wait{cancel}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.waiting == nil {
		v.waiting = map[*wait]struct{}{}
	}
	v.waiting[w] = struct{}{}
	return w
}

// leave ends a wait: w is not cancelled any more from here on.
func (v *vigil) leave(w *wait) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.waiting, w)
}

// giveUp has all who wait ask another member.
func (v *vigil) giveUp() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for w := range v.waiting {
		w.cancel(errDead)
	}
	clear(v.waiting)
}

// attend sends the request to m and waits for the head of the answer. If m is found
// dead by its checks meanwhile, and another member may be asked and is there, it is
// not waited for any longer. What has been answered is not touched.
func (r *run) attend(m *member, pass origin.Pass) (*origin.Inbound, *origin.Fault) {
	if r.t.cfg.Check.Path == "" || r.asked >= r.most() || !r.mayRepeat() {
		return m.exchange(r.ctx, r.q, pass, nil)
	}
	ctx, cancel := context.WithCancelCause(r.ctx)
	w := m.vigil.enter(cancel)
	in, f := m.exchange(ctx, r.q, pass, func() { cancel(nil) })
	m.vigil.leave(w)
	if context.Cause(ctx) != errDead {
		return in, f
	}
	discard(in) // its body ends with ctx
	return nil, &origin.Fault{Origin: m.name, Kind: origin.Reset, Reached: true, Attempts: 1, Err: errDead}
}

// others says whether another member than m gets requests.
func (g *Group) others(m *member) bool {
	now := time.Now()
	for _, o := range g.table.Load().members {
		if o != m && o.available(now) {
			return true
		}
	}
	return false
}
