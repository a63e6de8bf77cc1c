package accel

import (
	"bytes"
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

	table *table
	entry *cache.Entry
	now   int64 // of the look-up, on the cache's clock
	shape *telemetry.Shape
}

// CountUse adds the use of the answer to the record of the request that it serves.
func (h *PageHit) CountUse(r *telemetry.Record) {
	r.Shape = h.shape
	countUse(h.entry, h.now, r)
}

// Answer returns the answer as JSON. It must not be modified.
func (h *PageHit) Answer() []byte { return h.entry.Payload() }

// Form returns the form passed to Client.AttachPageForm for this answer, or nil. The result
// must not be modified.
func (h *PageHit) Form() []byte { return h.entry.Variant() }

// PageKey identifies a request that Client.Page has served, so that it is served again without being
// parsed.
type PageKey struct {
	table *table
	key   []byte
	hash  uint64
	body  []byte
	shape *telemetry.Shape
}

// RecordKey returns the key of the request for the access record. It must not be modified.
func (h *PageHit) RecordKey() []byte { return h.entry.Key() }

// Key returns the key of the request with the given body, which Page has served.
func (h *PageHit) Key(body []byte) PageKey {
	return PageKey{h.table, bytes.Clone(h.entry.Key()), h.KeyHash, bytes.Clone(body), h.shape}
}

// KeySize returns the memory that Key takes, in bytes.
func (h *PageHit) KeySize(body []byte) int { return len(h.entry.Key()) + len(body) }

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
	k := c.pageCall(op, now)
	s.refreshIfStale(t, k.now)
	if !t.lags(k.now) {
		h, ok = k.cachedPage(t, body, now)
	}
	k.free()
	return h, ok
}

// cachedPage is the part of Page that needs a call.
func (c *call) cachedPage(t *table, body []byte, now time.Time) (h PageHit, ok bool) {
	v, ok := c.parsePage(t, body)
	if !ok {
		return h, false
	}
	e, found, refresh := c.svc.space.Lookup(c.key, c.now)
	if found != cache.Fresh {
		return h, false
	}
	if refresh {
		c.refreshPage(&v, body, now)
	}
	c.svc.verify.sample(t, e, c.now)
	c.svc.metrics.decision(c.op, telemetry.Hit)
	return PageHit{t.keyHash(c.key), t, e, c.now, c.shape()}, true
}

// pageCall returns a call for a Query or a Scan. A call whose use has panicked must not be freed.
func (c Client) pageCall(op *wire.Operation, now time.Time) *call {
	s := c.svc
	k := s.calls.Get().(*call)
	k.svc, k.set, k.op, k.principal, k.now = s, s.settings.Load(), op, c.principal, s.cache.At(now)
	return k
}

// free returns a call to its pool.
func (c *call) free() {
	s := c.svc
	c.release()
	s.calls.Put(c)
}

// PageAgain is Page for a request that Page has served before. It also returns false if the table has
// been described again since, and if the answer has only the form of JSON.
func (c Client) PageAgain(op *wire.Operation, name []byte, key *PageKey, now time.Time) (h PageHit, ok bool) {
	s := c.svc
	t := s.peek(name)
	if t == nil || t != key.table || t.tags.origin != s.settings.Load().tag || !c.principal.allows(wire.Read, tableOf(name)) {
		return h, false
	}
	at := s.cache.At(now)
	s.refreshIfStale(t, at)
	if t.lags(at) {
		return h, false
	}
	e, found, refresh := s.space.Lookup(key.key, at)
	if found != cache.Fresh {
		return h, false
	}
	if refresh {
		k := c.pageCall(op, now)
		if v, ok := k.parsePage(t, key.body); ok {
			k.refreshPage(&v, key.body, now)
		}
		k.free()
	}
	if e.Variant() == nil {
		return h, false
	}
	s.verify.sample(t, e, at)
	s.metrics.decision(op, telemetry.Hit)
	return PageHit{key.hash, t, e, at, key.shape}, true
}

// parsePage parses a query or a scan and builds its cache key. It returns false if the request isn't
// served from the cache.
func (c *call) parsePage(t *table, body []byte) (v view, ok bool) {
	known, ok := c.members(body, queryMembers)
	strong, valid := isTrue(c.m[qConsistent])
	if !ok || !known || !valid || strong || t.tags.origin != c.set.tag {
		return v, false
	}
	v = view{t: t, scan: c.op.Kind == wire.Scan}
	return v, c.parseView(&v)
}

// refreshPage starts to fetch the answer of a hit again. The fetch doesn't use the exchange
// after it has been prepared.
func (c *call) refreshPage(v *view, body []byte, now time.Time) {
	c.x = edge.Detached(context.Background(), http1.Request{}, body, now)
	if c.resolveTags(v) {
		c.svc.space.Refresh(c.key, v.tags, c.queryFill(*v, sender{}))
	}
}

// AttachPageForm is AttachForm for a page.
func (c Client) AttachPageForm(h *PageHit, b []byte) { c.svc.space.Attach(h.entry, b) }
