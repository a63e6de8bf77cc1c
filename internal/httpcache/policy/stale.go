package policy

// mayBeStale reports whether r may be used beyond its freshness (RFC 9111, section 4.2.4).
// s-maxage forbids it like proxy-revalidate; explicit means that the response itself allows
// this kind of stale use, which takes precedence because the origin wrote it for shared
// caches.
func (r *Response) mayBeStale(explicit bool) bool {
	if r.Directives.Has(MustRevalidate | ProxyRevalidate | NoCache) {
		return false
	}
	return r.Source != FromShared || explicit
}

// Failure is the kind of an origin's failure.
type Failure uint8

// The failures.
const (
	// Disconnected means no answer: no connection, a timeout, or a connection that ended
	// before a complete head.
	Disconnected Failure = iota
	// Failed means an answer with the status 500, 502, 503 or 504.
	Failed
)

// Failing reports whether a status counts as the origin's failure (RFC 5861, section 4).
func Failing(status int) bool { return status == 500 || status >= 502 && status <= 504 }

// AfterFailure decides the answer to a request for which the origin failed: the stored
// response r if it may be used nevertheless, the origin's error, or an error of Kasoku's
// own. r is nil if nothing was selected.
func AfterFailure(q *Request, r *Response, m Mark, f Failure, now Moment, o *Options) Decision {
	d := Decision{Action: PassOn, Reason: OriginFailed}
	if r != nil {
		s := r.ageState(now)
		d.Age, d.TTL = s.age, s.ttl
		if why := r.onFailure(q, m, f, s.late, o); why != Expired {
			return Decision{Use, why, d.Age, d.TTL}
		}
	}
	switch {
	case f == Failed:
	case r != nil:
		d.Action, d.Reason = GatewayTimeout, OriginSilent
	default:
		d.Action, d.Reason = BadGateway, OriginSilent
	}
	return d
}

// onFailure returns the rule by which r may be used; Expired if there is none.
func (r *Response) onFailure(q *Request, m Mark, f Failure, late int64, o *Options) Reason {
	if m == Invalid || !q.Reading() || r.Status == 206 && !Covers(q, r) || q.Traits.Has(HasIfMatch) {
		return Expired
	}
	switch {
	case r.allows(r.ifError, late):
		return StaleError
	case !o.IgnoreRequestDirectives && r.allows(staleWindow{seconds: q.StaleIfError}, late):
		return StaleError
	case f == Disconnected && r.allows(staleWindow{seconds: o.StaleIfDisconnected}, late):
		return StaleDisconnected
	}
	return Expired
}

// allows reports whether late, in seconds, is within w and nothing forbids the use.
func (r *Response) allows(w staleWindow, late int64) bool {
	return w.seconds > 0 && late <= w.seconds && r.mayBeStale(w.own)
}
