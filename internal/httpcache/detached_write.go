package httpcache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/scope"
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
	client context.Context
	until  time.Time // deadline of the request timeout; zero if there is none
	all    *detachedWrites

	left      func()      // clientLeft
	mayDetach func() bool // detach

	// ctx and client as scopes of the connection, or nil. Then there are the functions that
	// end ctx, and that release client.
	work, connection *scope.Scope
	cancel           context.CancelCauseFunc
	unhook           func() bool

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
	t.ctx, t.client, t.work, t.connection = work, client, work, client
	t.all, t.ended = &c.svc.detached, false
	if !client.Hook(t.left) {
		panic("httpcache: two writes in one exchange")
	}
	return t
}

func newDetachedWrite(lasting, client context.Context, until time.Time, o *detachedWrites) *detachedWrite {
	t := &detachedWrite{client: client, until: until, all: o}
	t.bind()
	t.ctx, t.cancel = context.WithCancelCause(lasting)
	t.unhook = context.AfterFunc(t.client, t.left)
	return t
}

// bind makes the functions that others call.
func (t *detachedWrite) bind() { t.left, t.mayDetach = t.clientLeft, t.detach }

// stop ends the context of the write.
func (t *detachedWrite) stop(cause error) {
	if t.work != nil {
		t.work.Cancel(cause)
	} else {
		t.cancel(cause)
	}
}

// clientLeft is called when the client's context has ended, possibly after the exchange is
// over.
func (t *detachedWrite) clientLeft() {
	why := context.Cause(t.client)
	if errors.Is(why, edge.ErrRequestTimeout) || !t.detach() {
		t.stop(why)
	}
}

// detach reports whether the write may continue without its client.
func (t *detachedWrite) detach() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.detached && !t.ended && t.all.take() {
		t.detached = true
		if !t.until.IsZero() {
			t.limit = time.AfterFunc(time.Until(t.until), func() { t.stop(edge.ErrRequestTimeout) })
		}
	}
	return t.detached
}

// end ends the write's context.
func (t *detachedWrite) end() {
	if t.connection != nil {
		t.connection.Unhook()
	} else {
		t.unhook()
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
