package httpcache

import (
	"bytes"
	"net/http"

	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
)

// readRange answers a request for a range that is not stored: from the fetch of the whole
// that is in progress, or else from the origin, with one request for all clients that want
// the same range at the same time. The part may be stored.
func (c *call) readRange(found *store.Found, why policy.Reason) {
	if f := c.countRequest(); f != nil {
		c.failed(nil, f)
		return
	}
	req := flight.Request{Query: &c.query, Seen: found.Object, Part: c.shareableRange(found), Covered: c.coveredBy}
	for next := retryShared; next == retryShared && c.joined.mismatches < maxMismatches; c.joined.mismatches++ {
		t, f := c.svc.flights.TryJoin(&req), (*originFetch)(nil)
		if t == nil && req.Part == nil {
			break
		}
		if t == nil {
			f = c.newFetch(nil)
			f.header, req.Fill = f.client, f.run
			t = c.svc.flights.Join(&req)
		}
		if next = c.join(t, f, why); next == answered {
			return
		}
	}
	c.fetchRangeAlone(why)
}

func (c *call) coveredBy(o *store.Object) bool { return policy.Covers(&c.req, &o.Head.Response) }

// shareableRange returns the requested range if its answer may be shared with other requests
// for it; nil if it may not, or if there are other conditions.
func (c *call) shareableRange(found *store.Found) []byte {
	const conditions = policy.HasIfNoneMatch | policy.HasIfModifiedSince
	q := &c.req
	if found.Uncacheable || c.needsOwnAnswer(nil) || q.Traits.Has(conditions) || len(q.Range) == 0 || bytes.IndexByte(q.Range, ',') >= 0 {
		return nil
	}
	return append(append(bytes.Clone(q.Range), '\n'), q.IfRange...)
}

// answerReceivedPart answers with a part that the origin has just sent for this request.
func (c *call) answerReceivedPart(o *store.Object, status policy.CacheStatus) {
	if c.callback.Admitted() {
		c.callback.judge(o.Head.Response.Status, o.Head.Fields, jsonp.Unseen)
	}
	c.missHead(o.Head, status)
	c.sendBody(o.Body, 0, o.Body.Len())
}

// fetchRangeAlone asks the origin for a range for this client only.
func (c *call) fetchRangeAlone(why policy.Reason) {
	fence := c.svc.store.Fence(c.key)
	asked := clock()
	q := c.outbound(c.forOrigin())
	in, f := c.ask(c.x.Context(), q)
	if f != nil {
		c.answerFault(f)
		return
	}
	defer in.Close()
	c.relayRange(in, fence, asked, why)
}

// relayRange gives the client the answer to a range request, and stores it if it is a part
// or the whole of a response.
func (c *call) relayRange(in *origin.Inbound, at store.Fence, asked policy.Moment, why policy.Reason) {
	o := c.opt
	fields := received(in, clock())
	r := policy.ParseResponse(in.Status, fields, asked, clock(), o)
	ok, kept := policy.Storable(&c.req, &r, o)
	if ok && in.Length > c.svc.store.Limits().MaxObject {
		ok, kept = false, policy.TooLarge
	}
	if in.Status == http.StatusPartialContent && ok && in.Length >= 0 && in.Length != r.Part.Length() && !o.LooseParts {
		ok, kept = false, policy.PartNotStored
	}
	c.svc.metrics.stored(kept)
	status := policy.CacheStatus{Reason: why, Forwarded: true, Storing: kept}
	h := store.NewHead(r, fields.Clone(), c.forOrigin(), o).AddGroups(c.key)
	c.missHead(h, status)
	if !ok {
		c.copyBody(in)
		return
	}
	c.copyBodyTo(in, &collector{flights: c.svc.flights, max: c.svc.store.Limits().MaxObject, done: func(body []byte) {
		if in.Status == http.StatusPartialContent {
			part, fits := r.Part.Fit(int64(len(body)), o)
			if !fits {
				return
			}
			h.Response.Part = part
		}
		c.svc.store.Put(c.key, store.NewObject(h, c.svc.store.Track(store.Gather([][]byte{body})), at), nil)
	}})
}
