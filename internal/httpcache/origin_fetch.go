package httpcache

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/origin/balance"
)

// originFetch is the request of a flight to the origin. It is made of a client's request and
// outlives it, so it has memory of its own.
type originFetch struct {
	svc *Service
	set *settings
	opt *policy.Options
	fetchRequest
	fetchResult

	seen       *store.Object // the object to validate; nil if there is none
	part       *store.Object // the part to complete; nil if there is none
	background bool          // no client waits for it
	confirm    bool          // seen must not be used unless the origin confirms it
	fill       *Fill         // nil for type http, and with shared
	shared     *Shared       // nil unless another service keeps the answer
	peer       *peerQuestion // for the owner of the key; nil: it is not asked
	forPeer    bool          // another member has asked
}

// fetchRequest is the request that is sent to the origin.
type fetchRequest struct {
	key         []byte
	method      []byte
	host        []byte // nil for the origin's own
	target      []byte
	header      http1.Fields // as sent to the origin, without conditions
	client      http1.Fields // with the client's conditions
	req         policy.Request
	content     []byte // the body
	wantTrailer bool   // the starter takes trailers
}

// fetchResult is set while the fetch runs. The starter reads it after Wait.
type fetchResult struct {
	in        *origin.Inbound
	fwdStatus int           // the origin's status
	keep      bool          // returned by Fill.Ask
	why       policy.Reason // why the answer is stored or not
	own       http1.Fields  // fields for the starter alone
	fromPeer  bool          // the answer is another member's

	stop context.CancelFunc // ends the reading of the answer; nil unless forPeer
}

// newFetch returns a fetch for the call's request.
func (c *call) newFetch(seen *store.Object) *originFetch {
	q := c.outbound(c.forOrigin())
	client := q.Header.Clone()
	f := &originFetch{
		svc: c.svc, set: c.set, opt: c.opt, seen: seen, confirm: c.progress.unconfirmed, fill: c.fill(), shared: c.shared(),
		fetchRequest: fetchRequest{
			key: append([]byte(nil), c.key...), method: append([]byte(nil), q.Method...), target: append([]byte(nil), q.Target...),
			header: policy.Unconditional(nil, client), client: client, wantTrailer: c.connection.trailers,
		},
	}
	if len(q.Host) > 0 {
		f.host = append([]byte(nil), q.Host...)
	}
	policy.ParseRequest(&f.req, f.method, client, c.opt)
	if c.plan != nil {
		f.content = bytes.Clone(c.plan.Body)
		c.plan.stripConditions(&f.req)
	}
	return f
}

// stale returns the object that may be used if the origin fails; nil if there is none.
func (f *originFetch) stale() *store.Object {
	if f == nil || f.fill != nil || f.shared != nil || f.confirm {
		return nil
	}
	return f.seen
}

// run is a flight.FillFunc.
func (f *originFetch) run(ctx context.Context, fl *flight.Flight) (a *flight.Answer, err error) {
	defer func() {
		if a == nil && f.in != nil {
			f.in.Close() // also after a panic
		}
	}()
	if f.forPeer {
		ctx, f.stop = context.WithCancel(ctx)
	}
	a, err = f.attempt(ctx, fl, f.validatable())
	if err == errOtherObject || err == errOtherPart {
		f.part = nil
		a, err = f.attempt(ctx, fl, nil)
	}
	if _, failed := errors.AsType[*origin.Fault](err); failed {
		f.svc.logOriginFault(f.method, f.target, f.header, err)
	}
	if f.background && (err != nil || policy.Failing(f.fwdStatus)) {
		f.seen.RefreshFailed(clock().Add(refreshPause))
	}
	return a, err
}

// validatable returns the object that the origin can validate; nil if there is none.
func (f *originFetch) validatable() *store.Object {
	if f.seen == nil || f.seen.Head.Synthesized || f.fill != nil && f.fill.Refetch {
		return nil
	}
	return f.seen
}

// refreshPause is how long after a failed refresh in the background the next one is tried at
// the earliest.
const refreshPause = 5 * time.Second

// errOtherObject is returned for a 304 that confirms another object than the stored one.
var errOtherObject = errors.New("httpcache: the origin has confirmed something that is not stored")

// attempt sends one request to the origin. If seen is not nil, it validates seen.
func (f *originFetch) attempt(ctx context.Context, fl *flight.Flight, seen *store.Object) (*flight.Answer, error) {
	if a, ok := f.askPeer(ctx, fl); ok {
		return a, nil
	}
	header, completing := f.completion()
	switch {
	case seen != nil:
		header = policy.Validation(nil, f.header, &seen.Head.Response)
	case !completing:
		header = f.header
	}
	f.svc.metrics.asked.Inc()
	asked := clock()
	in, fault := f.ask(ctx, &origin.Outbound{
		Method: f.method, Host: f.host, Target: f.target, Header: header, Content: f.content, WantTrailer: f.wantTrailer,
		Interim: func(status int, h http1.Fields) { fl.Interim(status, policy.EndToEnd(nil, h).Clone()) },
	})
	if fault != nil {
		return nil, fault
	}
	f.in, f.fwdStatus = in, in.Status
	fields := received(in, clock())
	switch {
	case in.Status == 304 && seen != nil:
		in.Close()
		return f.validated(fl, seen, fields, asked)
	case completing && (in.Status == 206 || in.Status == 416):
		return f.complete(in, fields, asked)
	case in.Status == 304, in.Status == 206 && !f.req.Traits.Has(policy.HasRange):
		in.Close()
		return nil, &origin.Fault{Kind: origin.Garbage, Reached: true, Attempts: 1, Err: errUnasked}
	}
	switch {
	case f.shared != nil:
		return f.answerShared(in, fields, asked)
	case f.fill != nil:
		return f.admit(fl, in, fields, asked)
	}
	return f.answer(in, fields, asked), nil
}

// ask sends q to an origin.
func (f *originFetch) ask(ctx context.Context, q *origin.Outbound) (in *origin.Inbound, fault *origin.Fault) {
	switch {
	case f.shared != nil:
		return f.shared.Ask(ctx, q)
	case f.fill != nil:
		in, f.keep, fault = f.fill.Ask(ctx, q)
		return in, fault
	}
	return f.set.group.Do(ctx, q, &balance.Choice{Key: f.key})
}

var errUnasked = errors.New("an answer to conditions or ranges that were not in the request")

// clock returns the time on the clock that exchanges are dated by (edge.Exchange.Now).
func clock() policy.Moment { return policy.MomentOf(time.Now()) }

// received returns the fields of an origin's answer as they are stored and sent on.
func received(in *origin.Inbound, now policy.Moment) http1.Fields {
	fields := policy.Dated(nil, policy.EndToEnd(nil, in.Header), now)
	kept := fields[:0]
	for _, f := range fields {
		if !ascii.EqualFold(f.Name, "X-Request-Id") {
			kept = append(kept, f)
		}
	}
	return append(kept, via[in.Minor])
}

// answer makes a flight's answer of a new response: by RFC 9111 it is shared and kept, or
// not.
func (f *originFetch) answer(in *origin.Inbound, fields http1.Fields, asked policy.Moment) *flight.Answer {
	o := f.opt
	r := policy.ParseResponse(in.Status, fields, asked, clock(), o)
	storable, why := policy.Storable(&f.req, &r, o)
	length := in.Length
	if in.Status == 206 && storable {
		if length, storable = fitPart(&r, length, o); !storable {
			why = policy.PartNotStored
		}
	}
	a := &flight.Answer{Head: store.NewHead(r, fields, f.client, o).AddGroups(f.key), Length: length, Body: in, Trailer: func() http1.Fields { return trailer(in, o) }, Share: storable, Keep: storable}
	f.set.offerEncoded(a.Head, length, storable)
	switch {
	case !storable:
		if !causedByRequest(why) {
			a.Mark = f.set.cfg.UncacheableTTL
		}
		if why != policy.Authorized && why != policy.HeuristicNotStored { // another request may still use the stored object
			f.dropReplaced(in.Status)
		}
	case length > f.svc.store.MaxBody():
		a.Keep, why = false, policy.TooLarge
	case f.seen != nil && policy.Failing(in.Status):
		a.Keep, why = false, policy.OriginFailed // the stored object is kept (RFC 9111, section 4.3.3)
	}
	f.setStored(why)
	return a
}

// setStored sets why an answer is stored or not, and counts it if it is the origin's.
func (f *originFetch) setStored(why policy.Reason) {
	if f.why = why; !f.fromPeer {
		f.svc.metrics.stored(why)
	}
}

// fitPart returns the length of a part's body and makes its Part agree with it; false if
// that is impossible. A length that is not announced follows from Content-Range.
func fitPart(r *policy.Response, length int64, o *policy.Options) (int64, bool) {
	if length < 0 {
		length = r.Part.Length()
	}
	part, fits := r.Part.Fit(length, o)
	if fits {
		r.Part = part
	}
	return length, fits
}

// causedByRequest reports whether an answer can't be shared because of its request, so that
// answers to other requests may be.
func causedByRequest(why policy.Reason) bool {
	switch why {
	case policy.RequestNoStore, policy.PreconditionNotStored, policy.CookieNotStored, policy.HeuristicNotStored,
		policy.PartNotStored, policy.Authorized:
		return true
	}
	return false
}

// dropReplaced drops the object that the origin was asked about if the origin has replaced
// it by an answer that may not be stored.
func (f *originFetch) dropReplaced(status int) {
	if f.seen != nil && (status < 400 || status == 404 || status == 410) {
		f.svc.store.Drop(f.key, f.seen)
	}
}

// validated makes a flight's answer of a 304 and the stored object.
func (f *originFetch) validated(fl *flight.Flight, seen *store.Object, fields http1.Fields, asked policy.Moment) (*flight.Answer, error) {
	o, now := f.opt, clock()
	if f.fill != nil {
		adm := f.fill.Admit(304, fields)
		fields, f.own = adm.Fields, adm.ClientFields
	}
	update := policy.ParseResponse(304, fields, asked, now, o)
	if !policy.Updates(&update, &seen.Head.Response, true) {
		return nil, errOtherObject
	}
	r, all := seen.Head.Updated(&update, fields, asked, now, o)
	storable, why := policy.Storable(&f.req, &r, o)
	if !storable && !causedByRequest(why) {
		f.svc.store.Drop(f.key, seen)
	}
	share := storable
	if f.fill != nil && storable && !(f.keep && fl.Stamp().Settled) {
		storable, share, why = false, fl.Stamp().Settled && !f.fill.StarterOnly, policy.Unsettled
	}
	f.why = why
	f.svc.metrics.stored(why)
	head := store.NewHead(r, all, f.client, o).AddGroups(f.key).InheritTags(seen.Head)
	f.set.offerEncoded(head, seen.Body.Len(), storable)
	return &flight.Answer{Head: head, Validated: seen, Length: seen.Body.Len(), Share: share, Keep: storable}, nil
}
