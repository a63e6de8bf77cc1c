package httpcache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// maxDetached is how many writes are waited for at a time whose clients have left.
const maxDetached = 128

// all are the writes that go on without their clients.
type detachedWrites struct {
	count            atomic.Int64
	started, refused *telemetry.Counter
}

func (o *detachedWrites) observe(r *telemetry.Registry, service string) {
	o.started = r.Counter("kasoku_http_orphans_total",
		"Writes whose clients had left, or broken off their bodies, and whose outcome was waited for.", "service", service)
	o.refused = r.Counter("kasoku_http_orphans_refused_total",
		"Such writes that were given up because too many were waited for: what they may have changed is not kept for a while.", "service", service)
}

// take lets one more write go on, unless there are too many.
func (o *detachedWrites) take() bool {
	if o.count.Add(1) > maxDetached {
		o.count.Add(-1)
		o.refused.Inc()
		return false
	}
	o.started.Inc()
	return true
}

// detachedWrite lets a write go on when its client leaves, or breaks off its body, so that it
// becomes known what the origin has made of it. Else whoever writes and leaves, again and
// again, would keep out of the cache what nobody knows the state of.
type detachedWrite struct {
	ctx    context.Context // the write's
	cancel context.CancelCauseFunc
	client context.Context
	unhook func() bool
	until  time.Time // the request timeout; zero without one
	all    *detachedWrites

	// mu orders orphan and end. Leaf.
	mu       sync.Mutex
	ended    bool
	detached bool
	limit    *time.Timer // nil before it is orphaned, and without until
}

// detachedWrite begins the write of an exchange, which must end it.
func (s *Service) beginWrite(x *edge.Exchange) *detachedWrite {
	return newDetachedWrite(x.Lasting(), x.Context(), x.Deadline(), &s.detached)
}

func newDetachedWrite(lasting, client context.Context, until time.Time, o *detachedWrites) *detachedWrite {
	t := &detachedWrite{client: client, until: until, all: o}
	t.ctx, t.cancel = context.WithCancelCause(lasting)
	t.unhook = context.AfterFunc(t.client, t.clientLeft)
	return t
}

// clientLeft is called when the client's context has ended. It may be so late that the
// exchange is over.
func (t *detachedWrite) clientLeft() {
	why := context.Cause(t.client)
	if errors.Is(why, edge.ErrRequestTimeout) || !t.detach() {
		t.cancel(why)
	}
}

// detach tells whether the write may go on as it is.
func (t *detachedWrite) detach() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.detached && !t.ended && t.all.take() {
		t.detached = true
		if !t.until.IsZero() {
			t.limit = time.AfterFunc(time.Until(t.until), func() { t.cancel(edge.ErrRequestTimeout) })
		}
	}
	return t.detached
}

// end ends the write's context.
func (t *detachedWrite) end() {
	t.unhook()
	t.cancel(context.Canceled)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.detached {
		t.detached = false
		t.all.count.Add(-1)
	}
	if t.limit != nil {
		t.limit.Stop()
	}
}
