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

// originFetch is a request to the origin on behalf of whoever wants its answer. It is
// made of a client's request and outlives it, so it has memory of its own.
type originFetch struct {
	svc         *Service
	set         *settings
	key         []byte
	method      []byte
	host        []byte // nil: the origin's
	target      []byte
	header      http1.Fields // as it goes to the origin, without conditions
	client      http1.Fields // with the client's conditions
	req         policy.Request
	opt         *policy.Options
	byKey       bool          // as Plan has it
	wantTrailer bool          // its starter takes trailers
	seen        *store.Object // what is to be validated, nil if nothing
	part        *store.Object // what may be completed, nil if nothing
	background  bool          // nobody waits for it

	fill    *Fill                  // nil for type http
	content []byte                 // the request's body
	keep    bool                   // what Ask has said of the answer
	given   func(name string) bool // as Admission has it

	why       policy.Reason // what became of the answer; for the starter, after Wait
	fwdStatus int           // the origin's status
	in        *origin.Inbound
	own       http1.Fields // for the starter alone
}

// newFetch takes down what the call asks for.
func (c *call) newFetch(seen *store.Object) *originFetch {
	q := c.outbound(c.forOrigin())
	client := q.Header.Clone()
	f := &originFetch{
		svc: c.svc, set: c.set, key: append([]byte(nil), c.key...), method: append([]byte(nil), q.Method...),
		target: append([]byte(nil), q.Target...), header: policy.Unconditional(nil, client), client: client, seen: seen,
		opt: c.opt, fill: c.fill(), wantTrailer: c.hop.trailers,
	}
	if len(q.Host) > 0 {
		f.host = append([]byte(nil), q.Host...)
	}
	policy.ParseRequest(&f.req, f.method, client, c.opt)
	if c.plan != nil {
		f.content, f.byKey = bytes.Clone(c.plan.Body), c.plan.ByKey
		c.plan.tame(&f.req)
	}
	return f
}

// stale is what may stand in for an answer of the origin's, nil if nothing.
func (f *originFetch) stale() *store.Object {
	if f == nil || f.fill != nil {
		return nil
	}
	return f.seen
}

// run asks the origin for a flight.
func (f *originFetch) run(ctx context.Context, fl *flight.Flight) (a *flight.Answer, err error) {
	defer func() {
		if a == nil && f.in != nil {
			f.in.Close() // also after a panic
		}
	}()
	a, err = f.attempt(ctx, fl, f.validatable())
	if err == errOtherObject || err == errOtherPart {
		f.part = nil
		a, err = f.attempt(ctx, fl, nil)
	}
	if _, failed := errors.AsType[*origin.Fault](err); failed {
		f.svc.originFailed(f.method, f.target, f.header, err)
	}
	if f.background && (err != nil || policy.Failing(f.fwdStatus)) {
		f.seen.RefreshFailed(clock().Add(refreshPause))
	}
	return a, err
}

// validatable is what the origin can be asked about, nil if nothing.
func (f *originFetch) validatable() *store.Object {
	if f.seen == nil || f.seen.Head.Synthesized || f.fill != nil && f.fill.Anew {
		return nil
	}
	return f.seen
}

// refreshPause is how long after a failed refresh in the background the next one may
// be tried.
const refreshPause = 5 * time.Second

// errOtherObject says that a 304 speaks of something else than what was asked about.
var errOtherObject = errors.New("httpcache: the origin has confirmed something that is not stored")

// attempt asks the origin once, whether seen is still right if there is one.
func (f *originFetch) attempt(ctx context.Context, fl *flight.Flight, seen *store.Object) (*flight.Answer, error) {
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
		return f.completed(in, fields, asked)
	case in.Status == 304, in.Status == 206 && !f.req.Traits.Has(policy.HasRange):
		in.Close()
		return nil, &origin.Fault{Kind: origin.Garbage, Reached: true, Attempts: 1, Err: errUnasked}
	}
	if f.fill != nil {
		return f.admitted(fl, in, fields, asked)
	}
	return f.answer(in, fields, asked), nil
}

// ask sends q to an origin.
func (f *originFetch) ask(ctx context.Context, q *origin.Outbound) (in *origin.Inbound, fault *origin.Fault) {
	if f.fill == nil {
		return f.set.group.Do(ctx, q, &balance.Choice{Key: f.key})
	}
	in, f.keep, fault = f.fill.Ask(ctx, q)
	return in, fault
}

var errUnasked = errors.New("an answer to conditions or ranges that were not asked for")

// clock is now, on the clock that exchanges are dated by (edge.Exchange.Now).
func clock() policy.Moment { return policy.MomentOf(time.Now()) }

// received are the fields of an origin's answer as they are stored and sent on.
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

// answer judges a new response.
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
	f.set.offer(a.Head, length, storable)
	switch {
	case !storable:
		if !causedByRequest(why) {
			a.Mark = f.set.cfg.UncacheableTTL
		}
		if why != policy.Authorized && why != policy.HeuristicNotStored { // another may still get what is stored
			f.dropReplaced(in.Status)
		}
	case length > f.svc.store.MaxBody():
		a.Keep, why = false, policy.TooLarge
	case f.seen != nil && policy.Failing(in.Status):
		a.Keep, why = false, policy.OriginFailed // what is stored stays (RFC 9111, section 4.3.3)
	}
	f.why = why
	f.svc.metrics.stored(why)
	return a
}

// fitPart is the length of a part's body, whose Part agrees with it; false if they can't
// agree. One whose length is not announced has what its Content-Range says.
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

// causedByRequest says whether an answer can't be shared because of what was asked: that
// tells nothing of the answers to others.
func causedByRequest(why policy.Reason) bool {
	switch why {
	case policy.RequestNoStore, policy.PreconditionNotStored, policy.CookieNotStored, policy.HeuristicNotStored,
		policy.PartNotStored, policy.Authorized:
		return true
	}
	return false
}

// dropReplaced drops what the origin was asked about if it has answered with
// something else that may not be stored.
func (f *originFetch) dropReplaced(status int) {
	if f.seen != nil && (status < 400 || status == 404 || status == 410) {
		f.svc.store.Drop(f.key, f.seen)
	}
}

// validated is what a 304 makes of the stored object.
func (f *originFetch) validated(fl *flight.Flight, seen *store.Object, fields http1.Fields, asked policy.Moment) (*flight.Answer, error) {
	o, now := f.opt, clock()
	if f.fill != nil {
		adm := f.fill.Admit(304, fields)
		fields, f.own = adm.Fields, adm.Own
	}
	told := policy.ParseResponse(304, fields, asked, now, o)
	if !policy.Updates(&told, &seen.Head.Response, true) {
		return nil, errOtherObject
	}
	r, all := seen.Head.Updated(&told, fields, asked, now, o)
	storable, why := policy.Storable(&f.req, &r, o)
	if !storable && !causedByRequest(why) {
		f.svc.store.Drop(f.key, seen)
	}
	share := storable
	if f.fill != nil && storable && !(f.keep && fl.Stamp().Settled) {
		storable, share, why = false, fl.Stamp().Settled && !f.fill.Alone, policy.Unsettled
	}
	f.why = why
	f.svc.metrics.stored(why)
	head := store.NewHead(r, all, f.client, o).AddGroups(f.key).InheritTags(seen.Head)
	f.set.offer(head, seen.Body.Len(), storable)
	return &flight.Answer{Head: head, Validated: seen, Length: seen.Body.Len(), Share: share, Keep: storable}, nil
}
