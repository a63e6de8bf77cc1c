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
	// Valid says that what is stored and fresh is also right. Without it the origin is
	// asked, about what is stored if that has a validator of the origin's.
	Valid bool
	// Since is the earliest moment, on the cache's clock, at which a fetch may have begun
	// whose answer this request takes.
	Since int64
	// Body is that of a POST that reads; nil for GET and HEAD.
	Body []byte
	// Options stand for the service's own; they never change. A request's credentials make
	// no difference, in any case: whoever makes the plan knows who may have the answer.
	Options *policy.Options
	// ClientFields are fields for this client's answer alone.
	ClientFields http1.Fields
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
	// Refetch fetches the answer anew where something is stored that the origin has given a
	// validator: one origin's validators say nothing to another.
	Refetch bool
	// StarterOnly keeps an answer that may not be stored, as Ask says, from those who wait for
	// the same: it is right for who asked only.
	StarterOnly bool
	// Admit looks at an answer's head. What it returns may refer to fields.
	Admit func(status int, fields http1.Fields) Admission
	// CheckBody looks at a body that is whole, and says whether it may be stored.
	CheckBody func(*store.Body) bool
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
	// ClientFields are fields for whoever asked only.
	ClientFields http1.Fields
	// Store lets others have it, and lets it be stored if nothing else is against it.
	Store bool
}

// Read answers a GET, a HEAD or a POST that reads, from what is stored or from an
// origin. Stored answers have no age and are dated now: that they are still
// right is known as if they had just been validated.
func (s *Service) Read(x *edge.Exchange, p *Plan) {
	c := s.startCall(x)
	defer c.finish()
	c.plan, c.opt, c.clientFields = p, p.Options, p.ClientFields
	if c.checkConnection() && c.admitCallback(cmp.Or(p.JSONP, c.set.cfg.JSONP)) {
		c.parse()
		c.planned()
	}
}

// PassThrough is how a request goes to an origin whose answer is not stored.
type PassThrough struct {
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
	// Finished, if not nil, is told how it ended before the client is. It is called once
	// unless the Passage ends in a panic. With it, a request that was sent is not given up
	// when its client leaves.
	Finished func(WriteOutcome)
}

// WriteOutcome is how a request ended.
type WriteOutcome struct {
	Fault  *origin.Fault // that there is no answer
	Status int
	Header http1.Fields
	Body   []byte
	Whole  bool // Body is all of it; else it was cut, or is too long to be held
}

// Pass gives the request to an origin as it is, and the client its answer as it
// comes.
func (s *Service) Pass(x *edge.Exchange, p *PassThrough) {
	c := s.startCall(x)
	defer c.finish()
	c.passThrough = p
	switch {
	case !c.checkConnection():
	case p.Upgrade && c.isUpgrade():
		c.parse()
		c.tunnel()
	case c.admitCallback(cmp.Or(p.JSONP, c.set.cfg.JSONP)):
		if p.Live {
			c.callback.Cancel()
		}
		c.parse()
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
	case d.Action == policy.Use && c.plan.Valid:
		c.hit(found.Object, policy.CacheStatus{Reason: d.Reason}, 0)
		return
	case d.Action == policy.GatewayTimeout:
		c.refuseOnlyIfCached(d.Reason)
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
	case !p.Valid:
		return policy.Unfollowed
	case d.Reason == policy.FreshByOptions:
		return policy.Followed
	}
	return d.Reason
}

// fill is the plan's Fill, nil if there is no plan.
func (c *call) fill() *Fill {
	if c.planFill == nil && c.plan != nil {
		c.planFill = c.plan.Filler.Fill()
	}
	return c.planFill
}

// send gives q to an origin.
func (c *call) send(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	switch {
	case c.faulty:
	case c.passThrough != nil && c.passThrough.Ask != nil:
		return c.passThrough.Ask(ctx, q)
	case c.plan != nil:
		in, _, f := c.fill().Ask(ctx, q)
		return in, f
	}
	return c.set.group.Do(ctx, q, &balance.Choice{Key: c.key})
}

// stripConditions takes away from a request what the plan has answered already.
func (p *Plan) stripConditions(q *policy.Request) {
	q.Traits &^= policy.HasAuthorization | policy.HasCookie
	if p.Body != nil { // conditions and ranges are for GET
		q.Method = policy.GET
		q.Traits &^= policy.HasRange | policy.HasIfRange | policy.HasIfNoneMatch | policy.HasIfModifiedSince
		q.Range, q.IfRange, q.IfModifiedSince = nil, nil, nil
	}
}

// sendsStoredDate says whether answers go out with the Date that they came with.
func (c *call) sendsStoredDate() bool { return c.plan == nil }

// wantsOutcome tells whether the passage's owner wants to know how it ended.
func (c *call) wantsOutcome() bool { return c.passThrough != nil && c.passThrough.Finished != nil }

// finished tells the passage's owner how it ended.
func (c *call) finished(s WriteOutcome) {
	if c.wantsOutcome() {
		c.passThrough.Finished(s)
	}
}

// maxOutcomeBody is the longest answer that is held until its Passage is settled.
const maxOutcomeBody = 16 << 20

// relayWhole is relay, for an answer that the passage's owner wants to see first.
func (c *call) relayWhole(in *origin.Inbound, status policy.CacheStatus) {
	body, err := io.ReadAll(io.LimitReader(in, maxOutcomeBody+1))
	whole := err == nil && len(body) <= maxOutcomeBody
	s := WriteOutcome{Status: in.Status, Header: in.Header, Whole: whole}
	if whole {
		s.Body = body
	}
	c.passThrough.Finished(s)
	c.head(in, clock())
	c.finishHead(status)
	switch {
	case c.req.Method == policy.HEAD:
		c.x.Reply.Length = in.Length
	case err != nil:
		c.unsent(err)
	case whole:
		c.holdBody(c.svc.store.Track(store.NewBody(body)))
		c.x.Reply.Body = body
	default:
		c.streamed = true
		c.holdBody(c.svc.store.Track(store.NewBody(body)))
		if out, serr := c.x.StreamWith(in.Length, body); serr == nil { // else the client is gone
			c.copyRest(out, &eofReader{in: in, got: int64(len(body))}, nil, body, nil)
		}
	}
}

// Refresh has what p reads, which needs Fill.Answer, fetched for its OnBody to take, unless
// somebody does already. It answers nothing: the exchange's request only says what to ask
// for. It tells whether it has begun to.
func (s *Service) Refresh(x *edge.Exchange, p *Plan) (begun bool) {
	c := s.startCall(x)
	defer func() {
		if v := recover(); v != nil {
			s.metrics.faults.Inc()
			s.log.Error("a fault inside the cache", slog.Any("panic", v), slog.String("stack", string(debug.Stack())))
			return // a call that panicked is not used again
		}
		c.end()
		s.calls.Put(c)
	}()
	if !c.connection.read(x.Request.Fields) || isLoop(x.Request.Fields, s.id) {
		return false
	}
	c.plan, c.opt = p, p.Options
	if f := cmp.Or(p.JSONP, c.set.cfg.JSONP); f != nil {
		target, query := x.Request.Target, x.Request.RawQuery
		defer func() { x.Request.Target, x.Request.RawQuery = target, query }() // the exchange goes on
		c.callback.strip(f, &x.Request)
	}
	c.parse()
	f := c.newFetch(nil)
	f.method, f.req.Method = []byte("GET"), policy.GET
	return s.flights.Refresh(&flight.Request{Query: &c.query, Tags: f.fill.Tags, Arrived: f.fill.Arrived, Linger: f.fill.Linger, KeepFailure: isOriginFault, Fill: f.run})
}
