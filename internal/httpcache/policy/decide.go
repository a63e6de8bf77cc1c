package policy

// Mark is the effect of an external event on a stored response.
type Mark uint8

// The marks, in order of strength.
const (
	Unmarked Mark = iota
	// Outdated is set by a soft purge: no longer fresh, but usable where a stale response
	// is.
	Outdated
	// Invalid is set by an unsafe method: the response must be validated before any use.
	Invalid
)

// Action is the action to take for a request.
type Action uint8

// The actions.
const (
	// Forward sends the request to the origin; no stored response is used.
	Forward Action = iota
	// Use answers from the stored response.
	Use
	// UseAndRefresh answers from the stored response although it is stale, and validates it
	// in the background, once for all concurrent requests.
	UseAndRefresh
	// Validate sends a conditional request for the stored response to the origin
	// ([Validation]).
	Validate
	// PassOn forwards the origin's answer to the client.
	PassOn
	// GatewayTimeout answers 504.
	GatewayTimeout
	// BadGateway answers 502.
	BadGateway
)

// Decision is an action with its reason. Age and TTL are [Response.Age] and [Response.TTL]
// of the stored response, if there is one.
type Decision struct {
	Action   Action
	Reason   Reason
	Age, TTL int64
}

// Absent decides for a request that no stored response matches. others reports whether there
// are responses of the URI for other values of the fields in Vary.
func Absent(q *Request, others bool, o *Options) Decision {
	if why := bypassReason(q, o); why != Fresh {
		return Decision{Action: Forward, Reason: why}
	}
	if q.Directives.Has(OnlyIfCached) {
		return Decision{Action: GatewayTimeout, Reason: OnlyIfCachedMissed}
	}
	if others {
		return Decision{Action: Forward, Reason: VaryMiss}
	}
	return Decision{Action: Forward, Reason: URIMiss}
}

// bypassReason returns the reason why stored responses are not considered; Fresh if they
// are.
func bypassReason(q *Request, o *Options) Reason {
	switch {
	case !q.Reading():
		return NotReading
	case o.PassCookies && q.Traits.Has(HasCookie):
		return CookiePassed
	case q.Traits.Has(HasIfMatch):
		return PreconditionPassed
	}
	return Fresh
}

// Decide decides whether the selected stored response answers the request (RFC 9111, section
// 4), based on the request, the response's directives, its mark and its age.
//
// A request that waited for another's fill may use the new response only if Decide returns
// Use.
func Decide(q *Request, r *Response, m Mark, now Moment, o *Options) Decision {
	s := r.ageState(now)
	if m != Unmarked {
		s.ttl, s.late = min(s.ttl, 0), max(s.late, 0)
	}
	d := Decision{Age: s.age, TTL: s.ttl}
	if d.Reason = bypassReason(q, o); d.Reason != Fresh {
		d.Action = Forward
		return d
	}
	if r.Status == 206 && !Covers(q, r) {
		d.Action, d.Reason = Forward, PartMissing
	} else {
		d.Action, d.Reason = r.use(q, m, &s, o)
	}
	if d.Action != Use && d.Action != UseAndRefresh && q.Directives.Has(OnlyIfCached) {
		d.Action, d.Reason = GatewayTimeout, OnlyIfCachedMissed
	}
	return d
}

// use applies the directives of both sides: first prohibitions by the response or an event,
// then the client's wishes, then the age.
func (r *Response) use(q *Request, m Mark, s *ageState, o *Options) (Action, Reason) {
	switch {
	case m == Invalid:
		return Validate, Invalidated
	case r.Directives.Has(NoCache):
		return Validate, ResponseNoCache
	case q.heuristic(r):
		return Validate, HeuristicPassed
	}
	if why := r.refusedByClient(q, s, o); why != Fresh {
		return Validate, why
	}
	switch {
	case s.ttl > 0:
		return Use, r.freshReason()
	case !o.IgnoreRequestDirectives && q.MaxStale != none && s.late <= q.MaxStale && r.mayBeStale(false):
		return Use, ClientTakesStale
	case r.allows(r.whileRevalidate, s.late):
		return UseAndRefresh, Refreshing
	}
	if m == Outdated {
		return Validate, SoftPurged
	}
	return Validate, Expired
}

// refusedByClient returns the reason why the client refuses r although it may be used; Fresh
// if it does not. Reloading an immutable response that is fresh is no refusal.
//
// The client's max-age is compared with the age in whole seconds that the client would
// receive. So a response requested less than a second ago for one reload (max-age=0) answers
// others. If the transfer time counted, it would answer none, not even the requests that
// waited for it.
func (r *Response) refusedByClient(q *Request, s *ageState, o *Options) Reason {
	switch {
	case o.IgnoreRequestDirectives:
	case q.Directives.Has(NoCache):
		return RequestNoCache
	case q.MaxAge == 0 && r.Directives.Has(Immutable) && s.ttl > 0:
	case q.MaxAge != none && s.age > q.MaxAge:
		return RequestMaxAge
	case q.MinFresh != none && -s.late < q.MinFresh:
		return RequestMinFresh
	}
	return Fresh
}

func (r *Response) freshReason() Reason {
	if r.Source == FromOptions {
		return FreshByOptions
	}
	return Fresh
}
