package policy

// heuristic reports whether a status is cacheable by default (RFC 9110, section 15.1). These
// are also, together with the redirections below, the statuses that this cache implements,
// for must-understand.
func heuristic(status int) bool {
	switch status {
	case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501:
		return true
	}
	return false
}

// implemented reports whether must-understand may be followed for status.
func implemented(status int) bool {
	switch status {
	case 302, 303, 307:
		return true
	}
	return heuristic(status)
}

// setLifetime sets how long r is fresh (RFC 9111, section 4.2.1). The first source that is
// present decides, even if its value is 0 or malformed.
func (r *Response) setLifetime(c *control, e *expires, o *Options) {
	switch {
	case c.sharedAge != none:
		r.Lifetime, r.Source = c.sharedAge, FromShared
	case c.maxAge != none:
		r.Lifetime, r.Source = c.maxAge, FromMaxAge
	case e.lines > 0:
		r.Source = FromExpires
		if t, ok := e.at(r.ResponseTime.Unix()); ok {
			r.Lifetime = t - r.Date
		}
	case !heuristic(r.Status) && !c.flags.Has(Public):
	case o.Heuristic > 0 && r.hasModified && r.modified < r.Date:
		r.Lifetime, r.Source = min((r.Date-r.modified)*o.Heuristic/100, o.HeuristicMax), FromModified
	case o.DefaultTTL > 0:
		r.Lifetime, r.Source = o.DefaultTTL, FromOptions
	}
}

// setStaleWindows sets how long r may be used after its lifetime.
func (r *Response) setStaleWindows(c *control, o *Options) {
	r.whileRevalidate = newStaleWindow(c.swr, o.StaleWhileRevalidate)
	r.ifError = newStaleWindow(c.sie, o.StaleIfError)
}

// newStaleWindow returns the window of a directive, or the default if there is none.
func newStaleWindow(directive, byDefault int64) staleWindow {
	if directive == none {
		return staleWindow{seconds: byDefault}
	}
	return staleWindow{seconds: directive, own: true}
}
