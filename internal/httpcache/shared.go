package httpcache

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// Shared is the part of a Plan for a service that shares the origin's answers among its
// clients, and keeps them by itself, for example in memcached. No rules of HTTP for caches
// apply to them.
type Shared struct {
	// Ask sends q. It may change q, but nothing that q refers to.
	Ask func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)
	// Answer makes the flight's answer of a response, with the reason for Cache-Status. The
	// answer decides alone which requests share it. Answer owns in.
	Answer func(in *origin.Inbound, r *Received) (*flight.Answer, policy.Reason, error)
	// Join joins a flight for the described answer, for example in Service.Flights. It may
	// change r.
	Join func(r *flight.Request) *flight.Waiter
}

// Received is a response for Shared.Answer.
type Received struct {
	Fields  http1.Fields  // end-to-end, in memory of their own
	Request http1.Fields  // of the client's request, as forwarded
	Asked   policy.Moment // when the origin was asked
	Peer    bool          // another member has sent it, and keeps the answer
}

// Flights returns the fetches of the service.
func (s *Service) Flights() *flight.Group { return s.flights }

// shared returns the plan's Shared, nil if there is none.
func (c *call) shared() *Shared {
	if c.plan == nil {
		return nil
	}
	return c.plan.Shared
}

// Prepare calls use with the description of a GET for the answer that p reads, for a flight
// in the background. The exchange only provides the request; it is not answered. A request
// that can't be forwarded is not prepared.
func (s *Service) Prepare(x *edge.Exchange, p *Plan, use func(*flight.Request)) {
	c := s.startCall(x)
	defer func() {
		if v := recover(); v != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the cache", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			c.callback.end() // the exchange continues
			return           // a call that panicked is not used again
		}
		c.end()
		s.calls.Put(c)
	}()
	if !c.connection.read(x.Request.Fields) || isLoop(x.Request.Fields, s.id) {
		return
	}
	c.plan, c.opt = p, p.Options
	c.callback.strip(cmp.Or(p.JSONP, c.set.cfg.JSONP), &x.Request)
	c.parse()
	f := c.newFetch(nil)
	f.method, f.req.Method = []byte("GET"), policy.GET
	use(&flight.Request{Query: &c.query, Fill: f.run})
}

// answerShared makes a flight's answer by the plan's Shared.
func (f *originFetch) answerShared(in *origin.Inbound, fields http1.Fields, asked policy.Moment) (*flight.Answer, error) {
	a, why, err := f.shared.Answer(in, &Received{Fields: fields, Request: f.client, Asked: asked})
	if why == policy.Stored && in.Length > f.svc.store.Limits().MaxObject {
		why = policy.TooLarge // to be held as a whole
	}
	f.why = why
	f.svc.metrics.stored(why)
	if err != nil {
		return nil, err
	}
	a.OnBody = f.guarded(a.OnBody)
	return a, nil
}

// guarded returns a flight's OnBody that recovers from a panic: the answer was sent already.
func (f *originFetch) guarded(do func(*store.Body)) func(*store.Body) {
	if do == nil {
		return nil
	}
	return func(b *store.Body) {
		defer func() {
			if p := recover(); p != nil {
				f.svc.metrics.faults.Inc()
				f.svc.log.Error("a fault inside the cache", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			}
		}()
		do(b)
	}
}
