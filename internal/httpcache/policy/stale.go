package policy

// mayBeStale says whether nothing forbids using r beyond its freshness (RFC 9111,
// section 4.2.4). s-maxage forbids it as proxy-revalidate does; explicit says that
// the response itself allows the kind of use in question, which counts for more: it
// is what the origin has written for shared caches.
func (r *Response) mayBeStale(explicit bool) bool {
	if r.Directives.Has(MustRevalidate | ProxyRevalidate | NoCache) {
		return false
	}
	return r.Source != FromShared || explicit
}

// Failure says how the origin failed.
type Failure uint8

// The failures.
const (
	// Disconnected is no answer: no connection, none in time, or one that
	// ended before a complete head.
	Disconnected Failure = iota
	// Failed is an answer with the status 500, 502, 503 or 504.
	Failed
)

// Failing says whether a status counts as the origin's failure (RFC 5861, section 4).
func Failing(status int) bool { return status == 500 || status >= 502 && status <= 504 }

// AfterFailure decides what a client gets whose request the origin failed to
// answer: the stored response r if it may be used nevertheless, the origin's
// error, or an error of our own. r is nil if nothing was selected.
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

// onFailure says by which rule r may be used; Expired if by none.
func (r *Response) onFailure(q *Request, m Mark, f Failure, late int64, o *Options) Reason {
	if m == Invalid || !q.Reading() || r.Status == 206 && !Covers(q, r) || q.Traits.Has(HasIfMatch) {
		return Expired
	}
	switch {
	case r.allows(r.StaleIfError, r.staleSIE, late):
		return StaleError
	case !o.IgnoreRequestDirectives && r.allows(q.StaleIfError, false, late):
		return StaleError
	case f == Disconnected && r.allows(o.StaleIfDisconnected, false, late):
		return StaleDisconnected
	}
	return Expired
}

// allows says whether late lies within the window, and nothing forbids it.
func (r *Response) allows(window int64, explicit bool, late int64) bool {
	return window > 0 && late <= window && r.mayBeStale(explicit)
}
