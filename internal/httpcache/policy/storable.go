package policy

// Storable reports whether a complete response may be stored for later requests (RFC 9111,
// section 3), and the reason if not. The caller must check that it is complete and not too
// large; a 206 is complete if its body has the length of its part ([Part.Fit]).
func Storable(q *Request, r *Response, o *Options) (bool, Reason) {
	if q.Method != GET {
		return false, MethodNotStored
	}
	return storable(q, r, o)
}

// storable is Storable for any method.
func storable(q *Request, r *Response, o *Options) (bool, Reason) {
	for _, refuse := range [...]func(q *Request, r *Response, o *Options) Reason{
		refusedByRequest, refusedByStatus, refusedByResponse, refusedAsPrivate, refusedAsUseless,
	} {
		if why := refuse(q, r, o); why != Stored {
			return false, why
		}
	}
	return true, Stored
}

func refusedByRequest(q *Request, _ *Response, o *Options) Reason {
	switch {
	case q.Directives.Has(NoStore):
		return RequestNoStore
	case o.PassCookies && q.Traits.Has(HasCookie):
		return CookieNotStored
	case q.Traits.Has(HasIfMatch):
		return PreconditionNotStored
	}
	return Stored
}

func refusedByStatus(q *Request, r *Response, _ *Options) Reason {
	switch {
	case r.Status < 200 || r.Status > 599 || r.Status == 304:
		return StatusNotStored
	case r.Status == 206 && (!q.Traits.Has(HasRange) || !r.Part.Known()):
		return PartNotStored
	case r.Status == 416 && q.Traits.Has(HasRange):
		return PartNotStored
	}
	return Stored
}

// refusedByResponse applies no-store. must-understand overrides it for an implemented
// status, and forbids storing for any other.
func refusedByResponse(_ *Request, r *Response, _ *Options) Reason {
	switch {
	case r.Directives.Has(MustUnderstand):
		if !implemented(r.Status) {
			return NotUnderstood
		}
	case r.Directives.Has(NoStore):
		return ResponseNoStore
	}
	if r.VaryAll {
		return VaryAll
	}
	return Stored
}

// refusedAsPrivate refuses responses for a single user.
func refusedAsPrivate(q *Request, r *Response, o *Options) Reason {
	switch {
	case r.Directives.Has(Private):
		return ResponsePrivate
	case q.Traits.Has(HasAuthorization) && !r.Directives.Has(Public|MustRevalidate) && r.Source != FromShared:
		return Authorized
	case r.SetCookie && o.SetCookie == RefuseCookies, r.SetCookie && o.SetCookie == StoreCookies && !r.Explicit():
		return SetsCookie
	case q.heuristic(r):
		return HeuristicNotStored
	}
	return Stored
}

// heuristic reports whether q has a Cookie and r's freshness is only heuristic: r may depend
// on the cookie without declaring it, so it is not shared.
func (q *Request) heuristic(r *Response) bool {
	return q.Traits.Has(HasCookie) && r.Source == FromModified
}

// refusedAsUseless refuses responses whose storage is not permitted explicitly or has no
// benefit.
func refusedAsUseless(_ *Request, r *Response, _ *Options) Reason {
	switch {
	case !r.Explicit() && !r.Directives.Has(Public) && !heuristic(r.Status):
		return NoPermission
	case r.validates():
	case r.Directives.Has(NoCache):
		return NothingToValidate
	case r.Lifetime <= 0 && r.whileRevalidate.seconds <= 0 && r.ifError.seconds <= 0:
		return NeverFresh
	}
	return Stored
}

// validates reports whether r has a validator.
func (r *Response) validates() bool { return r.ETag.Kind != NoTag || len(r.LastModified) > 0 }
