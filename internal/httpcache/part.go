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

// readRange answers a request for a range that nothing stored has: from the fetch of
// the whole that is under way, if there is one; else from the origin, which is asked for
// the range as the client has put it, once for all who ask for the same at the same
// time. The part may be stored.
func (c *call) readRange(found *store.Found, why policy.Reason) {
	if f := c.countRequest(); f != nil {
		c.failed(nil, f)
		return
	}
	req := flight.Request{Query: &c.query, Seen: found.Object, Part: c.shareableRange(found), Covered: c.coveredBy}
	for next := retryShared; next == retryShared && c.mismatches < maxMismatches; c.mismatches++ {
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

// shareableRange is the range that is asked for, if others can have the same answer: there
// is one, without other conditions, and nothing known says that it is for one client.
func (c *call) shareableRange(found *store.Found) []byte {
	const conditions = policy.HasIfNoneMatch | policy.HasIfModifiedSince
	q := &c.req
	if found.Uncacheable || c.needsOwnAnswer(nil) || q.Traits.Has(conditions) || len(q.Range) == 0 || bytes.IndexByte(q.Range, ',') >= 0 {
		return nil
	}
	return append(append(bytes.Clone(q.Range), '\n'), q.IfRange...)
}

// answerReceivedPart answers with a part that the origin has just sent for what is asked for.
func (c *call) answerReceivedPart(o *store.Object, status policy.CacheStatus) {
	if c.callback.Admitted() {
		c.callback.judge(o.Head.Response.Status, o.Head.Fields, jsonp.Unseen)
	}
	c.missHead(o.Head, status)
	c.sendBody(o.Body, 0, o.Body.Len())
}

// fetchRangeAlone asks the origin for a range on behalf of this client alone.
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

// relayRange gives the client the answer to a range, and keeps what is a part or the
// whole of a response.
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
