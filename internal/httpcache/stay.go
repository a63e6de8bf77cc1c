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

// mostOrphans is how many writes are waited for at a time whose clients have left.
const mostOrphans = 128

// orphans are the writes that go on without their clients.
type orphans struct {
	now            atomic.Int64
	taken, refused *telemetry.Counter
}

func (o *orphans) observe(r *telemetry.Registry, service string) {
	o.taken = r.Counter("kasoku_http_orphans_total",
		"Writes whose clients had left, or broken off their bodies, and whose outcome was waited for.", "service", service)
	o.refused = r.Counter("kasoku_http_orphans_refused_total",
		"Such writes that were given up because too many were waited for: what they may have changed is not kept for a while.", "service", service)
}

// take lets one more write go on, unless there are too many.
func (o *orphans) take() bool {
	if o.now.Add(1) > mostOrphans {
		o.now.Add(-1)
		o.refused.Inc()
		return false
	}
	o.taken.Inc()
	return true
}

// stay lets a write go on when its client leaves, or breaks off its body, so that it
// becomes known what the origin has made of it. Else whoever writes and leaves, again and
// again, would keep out of the cache what nobody knows the state of.
type stay struct {
	ctx     context.Context // the write's
	cancel  context.CancelCauseFunc
	client  context.Context
	unhook  func() bool
	until   time.Time // the request timeout; zero without one
	orphans *orphans

	// mu orders orphan and end. Leaf.
	mu       sync.Mutex
	over     bool
	orphaned bool
	limit    *time.Timer // nil before it is orphaned, and without until
}

// stay begins the write of an exchange, which must end it.
func (s *Service) stay(x *edge.Exchange) *stay {
	return newStay(x.Lasting(), x.Context(), x.Deadline(), &s.orphans)
}

func newStay(lasting, client context.Context, until time.Time, o *orphans) *stay {
	t := &stay{client: client, until: until, orphans: o}
	t.ctx, t.cancel = context.WithCancelCause(lasting)
	t.unhook = context.AfterFunc(t.client, t.left)
	return t
}

// left is called when the client's context has ended. It may be so late that the
// exchange is over.
func (t *stay) left() {
	why := context.Cause(t.client)
	if errors.Is(why, edge.ErrRequestTimeout) || !t.orphan() {
		t.cancel(why)
	}
}

// orphan tells whether the write may go on as it is.
func (t *stay) orphan() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.orphaned && !t.over && t.orphans.take() {
		t.orphaned = true
		if !t.until.IsZero() {
			t.limit = time.AfterFunc(time.Until(t.until), func() { t.cancel(edge.ErrRequestTimeout) })
		}
	}
	return t.orphaned
}

// end ends the write's context.
func (t *stay) end() {
	t.unhook()
	t.cancel(context.Canceled)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.orphaned {
		t.orphaned = false
		t.orphans.now.Add(-1)
	}
	if t.limit != nil {
		t.limit.Stop()
	}
}
