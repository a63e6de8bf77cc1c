package accel

import (
	"context"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// PageHit is a cached answer to a Query or a Scan.
type PageHit struct {
	// KeyHash identifies the request in the access log.
	KeyHash uint64

	entry *cache.Entry
}

// Answer returns the answer as JSON. It must not be modified.
func (h *PageHit) Answer() []byte { return h.entry.Payload() }

// Form returns the form passed to Client.AttachPageForm for this answer, or nil. The result
// must not be modified.
func (h *PageHit) Form() []byte { return h.entry.Variant() }

// Page serves a Query or a Scan from the cache. body is the request for the table name, a
// JSON object without invalid members. ok is false if the answer isn't cached or not fresh,
// the request isn't served from the cache, or the client isn't allowed to read the table.
// The caller then calls Serve, which answers any request. Page doesn't allocate, except for
// the single hit that starts a refresh.
//
// A hit is counted among the service's requests, anything else is not. The caller fills the
// access record.
func (c Client) Page(op *wire.Operation, name, body []byte, now time.Time) (h PageHit, ok bool) {
	s := c.svc
	t := s.peek(name)
	if t == nil || !t.known || !c.principal.allows(wire.Read, tableOf(name)) {
		return h, false
	}
	k := s.calls.Get().(*call)
	k.svc, k.set, k.op, k.principal, k.now = s, s.settings.Load(), op, c.principal, s.cache.At(now)
	s.refreshIfStale(t, k.now)
	e, due := k.cachedPage(t, body)
	if e != nil {
		h = PageHit{uint64(cache.TagOf(k.key)), e}
		if due.t != nil {
			k.refreshPage(&due, body, now)
		}
		s.metrics.decision(op, telemetry.Hit)
	}
	k.release()
	s.calls.Put(k)
	return h, e != nil
}

// cachedPage returns the fresh entry for a query or a scan, or nil. due is the view to
// refresh, if any.
func (c *call) cachedPage(t *table, body []byte) (e *cache.Entry, due view) {
	known, ok := c.members(body, queryMembers)
	strong, valid := isTrue(c.m[qConsistent])
	if !ok || !known || !valid || strong || t.tags.origin != c.set.tag {
		return nil, due
	}
	v := view{t: t, scan: c.op.Kind == wire.Scan}
	if !c.parseView(&v) {
		return nil, due
	}
	e, found, refresh := c.svc.space.Lookup(c.key, c.now)
	if found != cache.Fresh {
		return nil, due
	}
	if refresh {
		due = v
	}
	return e, due
}

// refreshPage starts to fetch the answer of a hit again. The fetch doesn't use the exchange
// after it has been prepared.
func (c *call) refreshPage(v *view, body []byte, now time.Time) {
	c.x = edge.Detached(context.Background(), http1.Request{}, body, now)
	if c.resolveTags(v) {
		c.svc.space.Refresh(c.key, v.tags, c.queryFill(*v))
	}
}

// AttachPageForm is AttachForm for a page.
func (c Client) AttachPageForm(h *PageHit, b []byte) { c.svc.space.Attach(h.entry, b) }
