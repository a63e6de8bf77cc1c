package policy

// Mark is what has happened to a stored response from outside.
type Mark uint8

// The marks, the stronger ones later.
const (
	Unmarked Mark = iota
	// Outdated is what a soft purge leaves: no longer fresh, but good where
	// a stale response is.
	Outdated
	// Invalid is what an unsafe method leaves: to be validated before any
	// use, whatever else is said.
	Invalid
)

// Action is what is to be done.
type Action uint8

// The actions.
const (
	// Forward asks the origin; nothing stored is of use.
	Forward Action = iota
	// Use answers from the stored response.
	Use
	// UseAndRefresh answers from the stored response although it is stale,
	// and validates it in the background, once for however many ask.
	UseAndRefresh
	// Validate asks the origin about the stored response ([Validation]).
	Validate
	// PassOn gives the client what came from the origin.
	PassOn
	// GatewayTimeout answers 504.
	GatewayTimeout
	// BadGateway answers 502.
	BadGateway
)

// Decision is what to do, and why. Age and TTL are the stored response's, where
// there is one, as [Response.Age] and [Response.TTL] have them.
type Decision struct {
	Action   Action
	Reason   Reason
	Age, TTL int64
}

// Absent decides a request for which nothing stored can be selected. others
// says that there are responses of the URI, but for other values of the fields
// that they vary by.
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

// bypassReason says why the stored responses are not even looked at; Fresh if they are.
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

// Decide says whether the selected stored response answers the request (RFC
// 9111, section 4), from what was asked, what it allows, its mark and its age.
//
// A request that waited for another's fill may take what came in just if Decide
// says Use.
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

// use decides from the directives of both sides. What the response or an event
// forbids is asked first, then what the client wants, then the time.
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
	case r.StaleWhileRevalidate > 0 && s.late <= r.StaleWhileRevalidate && r.mayBeStale(r.staleSWR):
		return UseAndRefresh, Refreshing
	}
	if m == Outdated {
		return Validate, SoftPurged
	}
	return Validate, Expired
}

// refusedByClient says whether the client refuses r although it may be used; Fresh if
// it doesn't. A reload of an immutable response that is fresh is no refusal.
//
// Its max-age is held against the age that it would be told, in whole seconds: what was
// asked for less than a second ago for one reload (max-age=0) answers others. If the time
// on the way counted, it would answer none, not even those that waited for it.
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
