package httpcache

import (
	"cmp"
	"context"
	"io"
	"net/http"
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

// Plan extends the handling of one read by another service, for example for CouchDB. It and
// its fields must not change until Read returns.
type Plan struct {
	// Key is the key under which the answer is stored, in place of the URL.
	Key []byte
	// Valid means that a stored fresh answer may be used. Otherwise the origin is asked,
	// with a condition if the stored answer has a validator of the origin's.
	Valid bool
	// Since is the earliest time, on the cache's clock, at which a shared fetch may have
	// begun.
	Since int64
	// Body is the body of a POST that reads; nil for GET and HEAD.
	Body []byte
	// Options replace the service's own; they never change. A request's credentials are
	// ignored in any case: the maker of the plan has checked permissions.
	Options *policy.Options
	// ClientFields are added to this client's answer only.
	ClientFields http1.Fields
	// JSONP replaces the service's own filter; nil: that one applies.
	JSONP *jsonp.Filter
	// Filler is called once if no stored answer is used. Nil if Shared is set.
	Filler Filler
	// Peers lets the owner of the answer's key be asked before the origin; nil: it is not.
	Peers *Peering
	// Shared is set by a service that keeps answers by itself, and stores none here.
	Shared *Shared
	// Why, if not 0, is the reason in Cache-Status when nothing is stored, with Detail,
	// which may be empty.
	Why    policy.Reason
	Detail string
}

// Peering describes how members of a cluster share the answer of a Plan.
type Peering struct {
	// Key names the answer, and is the same on all members.
	Key []byte
	// Attest is called by the member that answers, before its look-up. It returns for how long
	// this member may have missed changes of what the answer depends on: the other one does
	// not use it if one of the answer's tags has moved there within that time. If ok is false,
	// it is not answered.
	Attest func() (behind time.Duration, ok bool)
}

// Filler makes fills.
type Filler interface {
	// Fill is called by the goroutine of the exchange. The result outlives the exchange and
	// must not refer to it.
	Fill() *Fill
}

// Fill is a request to the origin for an answer that may be stored.
type Fill struct {
	// Tags are tags that the answer depends on, at most three. They are noted before Ask is
	// called.
	Tags []cache.Tag
	// Ask sends q. keep reports whether the answering origin allows the answer to be stored.
	// Ask may change q, but nothing that q refers to.
	Ask func(ctx context.Context, q *origin.Outbound) (in *origin.Inbound, keep bool, f *origin.Fault)
	// Refetch prevents a conditional request with the stored answer's validator: validators
	// of one origin mean nothing to another.
	Refetch bool
	// StarterOnly prevents an answer with keep false from being shared with waiting
	// requests.
	StarterOnly bool
	// Admit judges the head of an answer. Its result may refer to fields.
	Admit func(status int, fields http1.Fields) Admission
	// CheckBody reports whether a whole body may be stored; nil: any may.
	CheckBody func(*store.Body) bool
}

// Admission is the judgment about an answer.
type Admission struct {
	// Fields are the answer's fields for all clients.
	Fields http1.Fields
	// ClientFields are added for the client that started the fetch only.
	ClientFields http1.Fields
	// Store allows the answer to be shared, and to be stored if HTTP's rules allow it too.
	Store bool
}

// Read answers a GET, a HEAD or a POST that reads, from what is stored or from an origin. A
// stored answer is sent with the present Date and without Age, as if it had just been
// validated.
func (s *Service) Read(x *edge.Exchange, p *Plan) {
	c := s.startCall(x)
	defer c.finish()
	c.plan, c.opt, c.clientFields = p, p.Options, p.ClientFields
	if c.checkConnection() && c.admitCallback(cmp.Or(p.JSONP, c.set.cfg.JSONP)) {
		c.parse()
		c.planned()
	}
}

// PassThrough configures a request whose answer is not stored.
type PassThrough struct {
	// Why is the reason in Cache-Status, with Detail, which may be empty.
	Why    policy.Reason
	Detail string
	// Ask sends q, as Fill.Ask does. Nil: any origin is asked.
	Ask func(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault)
	// JSONP replaces the service's own filter; nil: that one applies.
	JSONP *jsonp.Filter
	// Upgrade allows a GET to switch to another protocol, which is forwarded unread.
	// Finished must be nil.
	Upgrade bool
	// Live means that the answer is an endless stream: it is sent without delay and not
	// wrapped for a callback.
	Live bool
	// Finished, if not nil, is called with the outcome before the client is answered, once
	// unless the request panics. If it returns a Refusal, the client gets that instead. With
	// it, a request that was sent is completed even if its client disconnects.
	Finished func(WriteOutcome) *Refusal
}

// Refusal is an error in the format of another service.
type Refusal struct {
	Status      int
	ContentType string
	Body        string
	Err         error // for the access log
}

// RefuseWrite answers a write that the cluster does not allow, or whose effect it may not
// show.
func (s *Service) RefuseWrite(x *edge.Exchange, r *Refusal) {
	c := s.startCall(x)
	defer c.finish()
	c.refuseAs(r)
}

// refuseAs answers with r.
func (c *call) refuseAs(r *Refusal) {
	reply := &c.x.Reply
	reply.Status = r.Status
	reply.Field("Content-Type", r.ContentType)
	if r.Status == http.StatusServiceUnavailable {
		reply.FieldUint("Retry-After", 1)
	}
	reply.Build(append(reply.Buf, r.Body...))
	c.count(policy.IsolatedWrite, nil)
	c.x.Record.Error = r.Err.Error()
}

// WriteOutcome is the outcome of a request.
type WriteOutcome struct {
	Fault  *origin.Fault // not nil if there is no answer
	Status int
	Header http1.Fields
	Body   []byte
	Whole  bool // Body is complete; otherwise it was cut, or is too long to be held
}

// Pass forwards the request to an origin, and the answer to the client, without the cache.
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

// Ask sends a request of the caller's own to an origin. The memory of choice.Hold is counted
// among the bodies in flight.
func (s *Service) Ask(ctx context.Context, q *origin.Outbound, choice *balance.Choice) (*origin.Inbound, *origin.Fault) {
	choice.Hold.Memory = s.store.InFlight()
	return s.settings.Load().group.Do(ctx, q, choice)
}

// Stats are the figures of the store and of the flights.
type Stats struct {
	store.Stats
	flightStats
}

type flightStats = flight.Stats

// Stats returns the present figures.
func (s *Service) Stats() Stats { return Stats{s.store.Stats(), s.flights.Stats()} }

// Members returns the state of the origins, in their order.
func (s *Service) Members() []balance.MemberState { return s.settings.Load().group.Members() }

// planned answers a read with a Plan.
func (c *call) planned() {
	found := c.svc.store.FindRequested(&c.query)
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

// reason returns the reason of a decision, considering the plan's validity.
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

// fill returns the plan's Fill, nil if there is no plan with one.
func (c *call) fill() *Fill {
	if c.planFill == nil && c.plan != nil && c.plan.Filler != nil {
		c.planFill = c.plan.Filler.Fill()
	}
	return c.planFill
}

func (c *call) send(ctx context.Context, q *origin.Outbound) (*origin.Inbound, *origin.Fault) {
	switch {
	case c.progress.faulty:
	case c.passThrough != nil && c.passThrough.Ask != nil:
		return c.passThrough.Ask(ctx, q)
	case c.shared() != nil:
		return c.plan.Shared.Ask(ctx, q)
	case c.plan != nil:
		in, _, f := c.fill().Ask(ctx, q)
		return in, f
	}
	c.choice = balance.Choice{Key: c.key}
	return c.set.group.Do(ctx, q, &c.choice)
}

// stripConditions removes the parts of a request that the plan has dealt with.
func (p *Plan) stripConditions(q *policy.Request) {
	q.Traits &^= policy.HasAuthorization | policy.HasCookie
	if p.Body != nil { // conditions and ranges are for GET
		q.Method = policy.GET
		q.Traits &^= policy.HasRange | policy.HasIfRange | policy.HasIfNoneMatch | policy.HasIfModifiedSince
		q.Range, q.IfRange, q.IfModifiedSince = nil, nil, nil
	}
}

// sendsStoredDate reports whether answers are sent with their stored Date.
func (c *call) sendsStoredDate() bool { return c.plan == nil }

// wantsOutcome reports whether the pass-through has a Finished function.
func (c *call) wantsOutcome() bool { return c.passThrough != nil && c.passThrough.Finished != nil }

// finished calls the pass-through's Finished, if it has one. It reports whether it has
// answered.
func (c *call) finished(s WriteOutcome) bool {
	if !c.wantsOutcome() {
		return false
	}
	r := c.passThrough.Finished(s)
	if r != nil {
		c.refuseAs(r)
	}
	return r != nil
}

// maxOutcomeBody is the length of the longest body in a WriteOutcome.
const maxOutcomeBody = 16 << 20

// relayWhole is relay for a pass-through with Finished, which gets the answer first.
func (c *call) relayWhole(in *origin.Inbound, status policy.CacheStatus) {
	body, err := io.ReadAll(io.LimitReader(in, maxOutcomeBody+1))
	whole := err == nil && len(body) <= maxOutcomeBody
	s := WriteOutcome{Status: in.Status, Header: in.Header, Whole: whole}
	if whole {
		s.Body = body
	}
	if c.finished(s) {
		return
	}
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
		c.progress.streamed = true
		c.holdBody(c.svc.store.Track(store.NewBody(body)))
		if out, serr := c.x.StreamWith(in.Length, body); serr == nil { // otherwise the client is gone
			c.copyRest(out, &eofReader{in: in, got: int64(len(body))}, nil, body, nil)
		}
	}
}
