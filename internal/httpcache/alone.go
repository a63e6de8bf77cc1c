package httpcache

import (
	"context"

	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// isPlain reports whether the origin's answer to the request, which has no body, is the client's
// answer unchanged.
func (c *call) isPlain() bool {
	return c.plan == nil && c.req.Method == policy.GET && len(c.connection.names) == 0 && !c.callback.Admitted() &&
		!c.req.Traits.Has(policy.HasRange|policy.HasIfMatch|policy.HasIfRange|policy.HasIfNoneMatch|policy.HasIfModifiedSince)
}

// fetchAlone answers a plain request from the origin, whose answer is probably for this client
// alone, without a flight. If it is one for all clients, a flight continues with it. The URL
// is known to be uncacheable until that time.
func (c *call) fetchAlone(why policy.Reason, until policy.Moment) {
	asked := clock()
	c.fence = c.svc.store.Fence(c.key)
	in, f := c.ask(c.clientContext(), c.outbound(c.forOrigin()))
	if f != nil {
		c.failed(nil, f)
		return
	}
	if in.Status == 304 || in.Status == 206 {
		in.Close()
		c.failed(nil, &origin.Fault{Kind: origin.Garbage, Reached: true, Attempts: 1, Err: errUnasked})
		return
	}
	now := clock()
	c.response = policy.ParseResponse(in.Status, c.receivedFields(in, now), asked, now, c.opt)
	storable, storing := policy.Storable(&c.req, &c.response, c.opt)
	if storable {
		c.handOver(in, asked, why)
		return
	}
	defer in.Recycle()
	if ttl := c.set.cfg.UncacheableTTL; !causedByRequest(storing) && until < now.Add(ttl/2) {
		head := store.NewHead(c.response, received(in, now), c.forOrigin().Clone(), c.opt)
		c.svc.store.MarkUncacheable(c.key, head, now, ttl)
	}
	c.svc.metrics.stored(storing)
	c.relay(in, policy.CacheStatus{Reason: why, Forwarded: true, Storing: storing})
}

// handOver answers with an answer that other requests may use too, by a flight that the
// exchange with the origin is handed over to.
//
//go:noinline
func (c *call) handOver(in *origin.Inbound, asked policy.Moment, why policy.Reason) {
	in.SetContext(context.Background())
	f := c.newFetch(nil)
	f.in, f.fwdStatus = in, in.Status
	c.join(c.svc.flights.Join(&flight.Request{Query: &c.query, Alone: true, Fence: &c.fence, Fill: func(ctx context.Context, _ *flight.Flight) (a *flight.Answer, _ error) {
		defer func() {
			if a == nil {
				in.Close() // after a panic
			}
		}()
		in.SetContext(ctx)
		return f.answer(in, received(in, clock()), asked), nil
	}}), f, why)
}
