package httpcache

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// Plan is what a service on top of this one knows of a read beyond HTTP. It and
// what it refers to must stay as they are until Serve returns.
type Plan struct {
	// Key is what the answer is stored under, instead of the URL.
	Key []byte
	// Good says that what is stored and fresh is also right. Without it the origin is
	// asked, about what is stored if that has a validator of the origin's.
	Good bool
	// Since is the earliest moment, on the cache's clock, at which a fetch may have begun
	// whose answer this request takes.
	Since int64
	// Body is that of a POST that reads; nil for GET and HEAD.
	Body []byte
	// Options stand for the service's own; they never change. A request's credentials make
	// no difference, in any case: whoever makes the plan knows who may have the answer.
	Options *policy.Options
	// Own are fields for this client's answer alone.
	Own http1.Fields
	// JSONP stands for the service's own; nil: that one holds.
	JSONP *jsonp.Filter
	// Filler is asked once when nothing stored answers.
	Filler Filler
	// Why, if set, is told in Cache-Status where nothing is stored, with Detail, which may
	// be empty.
	Why    policy.Reason
	Detail string
}

// Filler makes fills.
type Filler interface {
	// Fill is called by the goroutine that serves the exchange. What it returns outlives
	// the exchange and must not refer to it.
	Fill() *Fill
}

// Body is the body of a stored response.
type Body = store.Body

// Fill is how an origin is asked for an answer that may be stored.
type Fill struct {
	// Tags are what the answer depends on: at most three. They are noted before Ask.
	Tags []cache.Tag
	// Ask sends q. keep says whether the answer may be stored as far as the origin that
	// gave it is concerned. Ask may change q, but not what q refers to.
	Ask func(ctx context.Context, q *origin.Outbound) (in *origin.Inbound, keep bool, f *origin.Fault)
	// Anew fetches the answer anew where something is stored that the origin has given a
	// validator: one origin's validators say nothing to another.
	Anew bool
	// Alone keeps an answer that may not be stored, as Ask says, from those who wait for
	// the same: it is right for who asked only.
	Alone bool
	// Admit looks at an answer's head. What it returns may refer to fields.
	Admit func(status int, fields http1.Fields) Admission
	// Sound looks at a body that is whole, and says whether it may be stored.
	Sound func(*store.Body) bool
	// Answer, if set, replaces Admit and Sound. The service makes the flight's answer, which
	// decides alone which requests share it, and keeps it elsewhere: nothing is stored here,
	// and no rules of HTTP for caches apply. The reason is reported in Cache-Status. Answer
	// owns in.
	Answer func(in *origin.Inbound, r *Received) (*flight.Answer, policy.Reason, error)
	// Arrived and Linger are those of the flight.Request, with Answer. A failure of the
	// origin lingers too.
	Arrived int64
	Linger  time.Duration
}

// Received is a response for Fill.Answer.
type Received struct {
	Fields  http1.Fields  // end-to-end, in memory of their own
	Request http1.Fields  // of the client's request, as forwarded
	Asked   policy.Moment // when the origin was asked
}

// Admission is what becomes of an answer.
type Admission struct {
	// Fields are those of the answer for everybody.
	Fields http1.Fields
	// Own are fields for whoever asked only.
	Own http1.Fields
	// Store lets others have it, and lets it be stored if nothing else is against it.
	Store bool
}

// Read answers a GET, a HEAD or a POST that reads, from what is stored or from an
// origin. Stored answers have no age and are dated now: that they are still
// right is known as if they had just been validated.
func (s *Service) Read(x *edge.Exchange, p *Plan) {
	c := s.enter(x)
	defer c.finish()
	c.plan, c.opt, c.mine = p, p.Options, p.Own
	if c.sound() && c.admitCallback(cmp.Or(p.JSONP, c.set.cfg.JSONP)) {
		c.look()
		c.planned()
	}
}

// Passage is how a request goes to an origin whose answer is not stored.
type Passage struct {
	// Why is told in Cache-Status, with Detail, which may be empty.
	Why    policy.Reason
	Detail string
	// Ask sends q, as Fill.Ask does. Nil asks any origin.
	Ask func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)
	// JSONP stands for the service's own; nil: that one holds.
	JSONP *jsonp.Filter
	// Upgrade lets a GET that asks for another protocol have it from the origin: nothing is
	// known then of what is said. Settle must be nil.
	Upgrade bool
	// Live says that the answer is a stream that does not end by itself: nothing of it
	// may wait, so that it is not wrapped.
	Live bool
	// Settle, if not nil, is told how it ended before the client is. It is called once
	// unless the Passage ends in a panic. With it, a request that was sent is not given up
	// when its client leaves.
	Settle func(Settled)
}

// Settled is how a request ended.
type Settled struct {
	Fault  *origin.Fault // that there is no answer
	Status int
	Header http1.Fields
	Body   []byte
	Whole  bool // Body is all of it; else it was cut, or is too long to be held
}

// Pass gives the request to an origin as it is, and the client its answer as it
// comes.
func (s *Service) Pass(x *edge.Exchange, p *Passage) {
	c := s.enter(x)
	defer c.finish()
	c.passage = p
	switch {
	case !c.sound():
	case p.Upgrade && c.tunnels():
		c.look()
		c.tunnel()
	case c.admitCallback(cmp.Or(p.JSONP, c.set.cfg.JSONP)):
		if p.Live {
			c.callback.Cancel()
		}
		c.look()
		c.pass(p.Why)
	}
}

// Ask sends a request of the caller's own to the origins. What choice.Hold holds is counted
// among the bodies in flight.
func (s *Service) Ask(ctx context.Context, q *origin.Outbound, choice *balance.Choice) (*origin.Inbound, *origin.Fault) {
	choice.Hold.Memory = s.store.InFlight()
	return s.settings.Load().group.Do(ctx, q, choice)
}

// Stats are the figures of what is stored and on its way.
type Stats struct {
	store.Stats
	flightStats
}

type flightStats = flight.Stats

// Stats returns the figures so far.
func (s *Service) Stats() Stats { return Stats{s.store.Stats(), s.flights.Stats()} }

// Members reports on the origins, in their order.
func (s *Service) Members() []balance.MemberState { return s.settings.Load().group.Members() }

// planned is read for a Plan.
func (c *call) planned() {
	found := c.svc.store.Find(&c.query)
	d := c.decide(&found)
	d.Reason = c.plan.reason(&d)
	if found.Object == nil && d.Action == policy.Forward && c.plan.Why != policy.Fresh {
		d.Reason = c.plan.Why
	}
	switch {
	case d.Action == policy.Use && c.plan.Good:
		c.hit(found.Object, policy.CacheStatus{Reason: d.Reason}, 0)
		return
	case d.Action == policy.GatewayTimeout:
		c.forbidden(d.Reason)
		return
	}
	if c.req.Method == policy.HEAD || c.req.Traits.Has(policy.HasRange|policy.HasIfMatch) {
		c.pass(d.Reason)
		return
	}
	if found.Object == nil {
		found.Object = c.svc.store.FindInvalidated(&c.query)
	}
	c.fetch(found.Object, d.Reason, false)
}

// reason is that of a decision, with what the plan knows of what is stored.
func (p *Plan) reason(d *policy.Decision) policy.Reason {
	switch {
	case d.Action != policy.Use:
	case !p.Good:
		return policy.Unfollowed
	case d.Reason == policy.FreshByOptions:
		return policy.Followed
	}
	return d.Reason
}

// fill is the plan's Fill, nil if there is no plan.
func (c *call) fill() *Fill {
	if c.filling == nil && c.plan != nil {
		c.filling = c.plan.Filler.Fill()
	}
	return c.filling
}

// send gives q to an origin.
func (c *call) send(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	switch {
	case c.faulty:
	case c.passage != nil && c.passage.Ask != nil:
		return c.passage.Ask(ctx, q)
	case c.plan != nil:
		in, _, f := c.fill().Ask(ctx, q)
		return in, f
	}
	return c.set.group.Do(ctx, q, &balance.Choice{Key: c.key})
}

// tame takes away from a request what the plan has answered already.
func (p *Plan) tame(q *policy.Request) {
	q.Traits &^= policy.HasAuthorization | policy.HasCookie
	if p.Body != nil { // conditions and ranges are for GET
		q.Method = policy.GET
		q.Traits &^= policy.HasRange | policy.HasIfRange | policy.HasIfNoneMatch | policy.HasIfModifiedSince
		q.Range, q.IfRange, q.IfModifiedSince = nil, nil, nil
	}
}

// dated says whether answers go out with the Date that they came with.
func (c *call) dated() bool { return c.plan == nil }

// settles tells whether the passage's owner wants to know how it ended.
func (c *call) settles() bool { return c.passage != nil && c.passage.Settle != nil }

// settle tells the passage's owner how it ended.
func (c *call) settle(s Settled) {
	if c.settles() {
		c.passage.Settle(s)
	}
}

// mostSettled is the longest answer that is held until its Passage is settled.
const mostSettled = 16 << 20

// relayWhole is relay, for an answer that the passage's owner wants to see first.
func (c *call) relayWhole(in *origin.Inbound, status policy.CacheStatus) {
	body, err := io.ReadAll(io.LimitReader(in, mostSettled+1))
	whole := err == nil && len(body) <= mostSettled
	s := Settled{Status: in.Status, Header: in.Header, Whole: whole}
	if whole {
		s.Body = body
	}
	c.passage.Settle(s)
	c.head(in, clock())
	c.decided(status)
	switch {
	case c.req.Method == policy.HEAD:
		c.x.Reply.Length = in.Length
	case err != nil:
		c.unsent(err)
	case whole:
		c.lend(c.svc.store.Track(store.NewBody(body)))
		c.x.Reply.Body = body
	default:
		c.streamed = true
		c.lend(c.svc.store.Track(store.NewBody(body)))
		if out, serr := c.x.StreamWith(in.Length, body); serr == nil { // else the client is gone
			c.copyRest(out, &ended{in: in, got: int64(len(body))}, nil, body, nil)
		}
	}
}

// Refresh has what p reads, which needs Fill.Answer, fetched for its OnBody to take, unless
// somebody does already. It answers nothing: the exchange's request only says what to ask
// for. It tells whether it has begun to.
func (s *Service) Refresh(x *edge.Exchange, p *Plan) (begun bool) {
	c := s.enter(x)
	defer func() {
		if v := recover(); v != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the cache", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return // a call that panicked is not used again
		}
		c.end()
		s.calls.Put(c)
	}()
	if !c.hop.read(x.Request.Fields) || looped(x.Request.Fields, s.id) {
		return false
	}
	c.plan, c.opt = p, p.Options
	if f := cmp.Or(p.JSONP, c.set.cfg.JSONP); f != nil {
		target, query := x.Request.Target, x.Request.RawQuery
		defer func() { x.Request.Target, x.Request.RawQuery = target, query }() // the exchange goes on
		c.callback.strip(f, &x.Request)
	}
	c.look()
	f := c.newFetch(nil)
	f.method, f.req.Method = []byte("GET"), policy.GET
	return s.flights.Refresh(&flight.Request{Query: &c.query, Tags: f.fill.Tags, Arrived: f.fill.Arrived, Linger: f.fill.Linger, KeepFailure: isOriginFault, Fill: f.run})
}
