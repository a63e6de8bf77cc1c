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

// maxDetached is how many writes may continue at a time after their clients have
// disconnected.
const maxDetached = 128

// detachedWrites counts the writes that continue without their clients.
type detachedWrites struct {
	count            atomic.Int64
	started, refused *telemetry.Counter
}

func (o *detachedWrites) observe(r *telemetry.Registry, service string) {
	o.started = r.Counter("kasoku_http_orphans_total",
		"Writes that continued after their clients had disconnected, or broken off their bodies.", "service", service)
	o.refused = r.Counter("kasoku_http_orphans_refused_total",
		"Writes of disconnected clients that were given up because there were too many: for a while, nothing that they may have changed is stored.", "service", service)
}

// take counts one more write that continues, and reports whether there is room for it.
func (o *detachedWrites) take() bool {
	if o.count.Add(1) > maxDetached {
		o.count.Add(-1)
		o.refused.Inc()
		return false
	}
	o.started.Inc()
	return true
}

// detachedWrite lets a write continue when its client disconnects or breaks off its body, so
// that its outcome becomes known. Otherwise a client that keeps disconnecting mid-write
// would keep its URL uncached.
type detachedWrite struct {
	ctx    context.Context // of the write
	cancel context.CancelCauseFunc
	client context.Context
	unhook func() bool
	scoped bool      // ctx and client are scopes of the connection
	leave  func()    // clientLeft, for scopes
	until  time.Time // deadline of the request timeout; zero if there is none
	all    *detachedWrites

	// mu orders detach and end. Leaf.
	mu       sync.Mutex
	ended    bool
	detached bool
	limit    *time.Timer // nil before the write is detached, and without until
}

// beginWrite begins the write of the exchange, which must end it.
func (c *call) beginWrite() *detachedWrite {
	x, t := c.x, &c.detached
	client, work := x.ClientScope(), x.WorkScope()
	if client == nil || work == nil {
		return newDetachedWrite(x.Lasting(), x.Context(), x.Deadline(), &c.svc.detached)
	}
	t.ctx, t.cancel, t.client, t.unhook = work, work.Cancel, client, client.Unhook
	t.all, t.ended, t.scoped = &c.svc.detached, false, true
	if !client.Hook(t.leave) {
		panic("httpcache: two writes in one exchange")
	}
	return t
}

func newDetachedWrite(lasting, client context.Context, until time.Time, o *detachedWrites) *detachedWrite {
	t := &detachedWrite{client: client, until: until, all: o}
	t.ctx, t.cancel = context.WithCancelCause(lasting)
	t.unhook = context.AfterFunc(t.client, t.clientLeft)
	return t
}

// clientLeft is called when the client's context has ended, possibly after the exchange is
// over.
func (t *detachedWrite) clientLeft() {
	why := context.Cause(t.client)
	if errors.Is(why, edge.ErrRequestTimeout) || !t.detach() {
		t.cancel(why)
	}
}

// detach reports whether the write may continue without its client.
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
	if !t.scoped {
		t.cancel(context.Canceled)
	}
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
