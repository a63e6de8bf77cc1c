package policy

import "testing"

// decided returns the result of Decide for r some seconds after its arrival.
func decided(q *Request, r *Response, m Mark, after int64, o *Options) Decision {
	return Decide(q, r, m, later(after), o)
}

func TestDecide(t *testing.T) {
	o := Defaults()
	f := func(action Action, why Reason, after int64, cacheControl string, pairs ...string) {
		t.Helper()
		r := response(200, "Cache-Control", cacheControl, "ETag", `"a"`)
		if d := decided(request("GET", pairs...), r, Unmarked, after, &o); d.Action != action || d.Reason != why {
			t.Errorf("%s after %d, %q: %d %s, want %d %s", cacheControl, after, pairs, d.Action, d.Reason, action, why)
		}
	}
	const cc = "Cache-Control"
	// Fresh means a lifetime longer than the age.
	f(Use, Fresh, 0, "max-age=60")
	f(Use, Fresh, 59, "max-age=60")
	f(Validate, Expired, 60, "max-age=60")
	f(Validate, Expired, 0, "max-age=0")
	f(Validate, Expired, 0, "")
	f(Use, Fresh, 10_000_000_000-1, "max-age=10000000000")
	// The response's no-cache. With names of fields it does not require validation.
	f(Validate, ResponseNoCache, 0, "max-age=60, no-cache")
	f(Use, Fresh, 0, `max-age=60, no-cache="a"`)
	f(Validate, ResponseNoCache, 99, "max-age=60, no-cache, stale-while-revalidate=60", cc, "max-stale")
	// Directives of the client.
	f(Validate, RequestNoCache, 0, "max-age=60", cc, "no-cache")
	f(Validate, RequestNoCache, 0, "max-age=60, immutable", cc, "no-cache")
	f(Validate, RequestNoCache, 0, "max-age=60", "Pragma", "no-cache")
	f(Use, Fresh, 0, "max-age=60", cc, "no-store")
	f(Use, Fresh, 0, "max-age=60", cc, "max-age=0")
	f(Use, Fresh, 10, "max-age=60", cc, "max-age=10")
	f(Validate, RequestMaxAge, 11, "max-age=60", cc, "max-age=10")
	f(Use, Fresh, 11, "max-age=60, immutable", cc, "max-age=0")
	f(Validate, RequestMaxAge, 11, "max-age=60, immutable", cc, "max-age=10")
	f(Validate, RequestMaxAge, 60, "max-age=60, immutable", cc, "max-age=0")
	f(Use, Fresh, 50, "max-age=60", cc, "min-fresh=10")
	f(Validate, RequestMinFresh, 51, "max-age=60", cc, "min-fresh=10")
	f(Validate, RequestMinFresh, 51, "max-age=60, stale-while-revalidate=60", cc, "min-fresh=10")
	f(Use, ClientTakesStale, 60, "max-age=60", cc, "max-stale")
	f(Use, ClientTakesStale, 70, "max-age=60", cc, "max-stale=10")
	f(Validate, Expired, 71, "max-age=60", cc, "max-stale=10")
	f(Validate, RequestMaxAge, 70, "max-age=60", cc, "max-stale=10, max-age=60")
	f(Validate, Expired, 70, "max-age=60, must-revalidate", cc, "max-stale")
	f(Validate, Expired, 70, "max-age=60, proxy-revalidate", cc, "max-stale")
	f(Validate, Expired, 70, "s-maxage=60", cc, "max-stale")
	f(Validate, Expired, 70, "s-maxage=60, stale-while-revalidate=5", cc, "max-stale")
	f(Use, Fresh, 59, "s-maxage=60, must-revalidate", cc, "max-stale")
	// stale-while-revalidate (RFC 5861, section 3).
	f(Use, Fresh, 59, "max-age=60, stale-while-revalidate=10")
	f(UseAndRefresh, Refreshing, 60, "max-age=60, stale-while-revalidate=10")
	f(UseAndRefresh, Refreshing, 70, "max-age=60, stale-while-revalidate=10")
	f(Validate, Expired, 71, "max-age=60, stale-while-revalidate=10")
	f(Validate, Expired, 60, "max-age=60, stale-while-revalidate=0")
	f(UseAndRefresh, Refreshing, 70, "s-maxage=60, stale-while-revalidate=10")
	f(Validate, Expired, 70, "max-age=60, stale-while-revalidate=10, must-revalidate")
	f(Validate, Expired, 70, "max-age=60, stale-while-revalidate=10, proxy-revalidate")
	f(Validate, RequestMaxAge, 65, "max-age=60, stale-while-revalidate=10", cc, "max-age=60")
	f(Use, ClientTakesStale, 65, "max-age=60, stale-while-revalidate=10", cc, "max-stale=5")
	// only-if-cached forwards nothing.
	f(Use, Fresh, 0, "max-age=60", cc, "only-if-cached")
	f(UseAndRefresh, Refreshing, 70, "max-age=60, stale-while-revalidate=10", cc, "only-if-cached")
	f(GatewayTimeout, OnlyIfCachedMissed, 71, "max-age=60, stale-while-revalidate=10", cc, "only-if-cached")
	f(GatewayTimeout, OnlyIfCachedMissed, 0, "max-age=60", cc, "only-if-cached, no-cache")
	f(Forward, PreconditionPassed, 0, "max-age=60", "If-Match", "*")
	f(Forward, PreconditionPassed, 0, "max-age=60", "If-Unmodified-Since", at(0))
	f(Use, Fresh, 0, "max-age=60", "Cookie", "a=b", "Authorization", "Basic x", "If-None-Match", "*")
}

func TestDecideMethods(t *testing.T) {
	o := Defaults()
	r := response(200, "Cache-Control", "max-age=60")
	f := func(method string, action Action, why Reason) {
		t.Helper()
		if d := decided(request(method), r, Unmarked, 0, &o); d.Action != action || d.Reason != why {
			t.Errorf("%s: got %d %s, want %d %s", method, d.Action, d.Reason, action, why)
		}
	}
	f("GET", Use, Fresh)
	f("HEAD", Use, Fresh)
	f("OPTIONS", Forward, NotReading)
	f("POST", Forward, NotReading)
	f("FOO", Forward, NotReading)
}

func TestDecideMarks(t *testing.T) {
	o := Defaults()
	f := func(action Action, why Reason, m Mark, after int64, cacheControl string, pairs ...string) {
		t.Helper()
		r := response(200, "Cache-Control", cacheControl)
		d := decided(request("GET", pairs...), r, m, after, &o)
		if d.Action != action || d.Reason != why || m != Unmarked && d.TTL > 0 {
			t.Errorf("mark %d, %s after %d, %q: got %+v, want %d %s", m, cacheControl, after, pairs, d, action, why)
		}
	}
	f(Validate, Invalidated, Invalid, 0, "max-age=60")
	f(Validate, Invalidated, Invalid, 70, "max-age=60, stale-while-revalidate=60", "Cache-Control", "max-stale")
	f(Validate, SoftPurged, Outdated, 0, "max-age=60")
	f(UseAndRefresh, Refreshing, Outdated, 0, "max-age=60, stale-while-revalidate=10")
	f(UseAndRefresh, Refreshing, Outdated, 70, "max-age=60, stale-while-revalidate=10")
	f(Validate, SoftPurged, Outdated, 71, "max-age=60, stale-while-revalidate=10")
	f(Use, ClientTakesStale, Outdated, 0, "max-age=60", "Cache-Control", "max-stale")
	f(Validate, RequestMaxAge, Outdated, 5, "max-age=60, immutable", "Cache-Control", "max-age=0")
	f(Validate, RequestMinFresh, Outdated, 5, "max-age=60, stale-while-revalidate=10", "Cache-Control", "min-fresh=10")
	f(GatewayTimeout, OnlyIfCachedMissed, Invalid, 0, "max-age=60", "Cache-Control", "only-if-cached")
}

func TestDecideAgeAndTTL(t *testing.T) {
	o := Defaults()
	r := response(200, "Cache-Control", "max-age=60", "Age", "20")
	f := func(after, age, ttl int64) {
		t.Helper()
		if d := decided(request("GET"), r, Unmarked, after, &o); d.Age != age || d.TTL != ttl || r.TTL(later(after)) != ttl {
			t.Errorf("after %d s: got %+v, want age %d and TTL %d", after, d, age, ttl)
		}
	}
	f(0, 20, 40)
	f(39, 59, 1)
	f(50, 70, -10)
}

func TestDecideOptions(t *testing.T) {
	f := func(set func(o *Options), action Action, why Reason, after int64, cacheControl string, pairs ...string) {
		t.Helper()
		o := Defaults()
		set(&o)
		r := responseWith(&o, 200, "Cache-Control", cacheControl)
		if d := decided(request("GET", pairs...), r, Unmarked, after, &o); d.Action != action || d.Reason != why {
			t.Errorf("%s after %d, %q: %d %s, want %d %s", cacheControl, after, pairs, d.Action, d.Reason, action, why)
		}
	}
	f(func(o *Options) { o.DefaultTTL = 60 }, Use, FreshByOptions, 59, "")
	f(func(o *Options) { o.DefaultTTL = 60 }, Validate, Expired, 60, "")
	swr := func(o *Options) { o.StaleWhileRevalidate = 10 }
	f(swr, UseAndRefresh, Refreshing, 70, "max-age=60")
	f(swr, Validate, Expired, 70, "max-age=60, stale-while-revalidate=0")
	f(swr, Validate, Expired, 70, "max-age=60, must-revalidate")
	f(swr, Validate, Expired, 70, "s-maxage=60")
	ignoring := func(o *Options) { o.IgnoreRequestDirectives = true }
	f(ignoring, Use, Fresh, 0, "max-age=60", "Cache-Control", "no-cache")
	f(ignoring, Use, Fresh, 10, "max-age=60", "Cache-Control", "max-age=0, min-fresh=99")
	f(ignoring, Validate, Expired, 60, "max-age=60", "Cache-Control", "max-stale")
	f(ignoring, GatewayTimeout, OnlyIfCachedMissed, 60, "max-age=60", "Cache-Control", "only-if-cached")
	f(func(o *Options) { o.PassCookies = true }, Forward, CookiePassed, 0, "max-age=60", "Cookie", "a=b")
}

func TestDecideParts(t *testing.T) {
	o := Defaults()
	r := response(206, "Cache-Control", "max-age=60", "Content-Range", "bytes 2-5/10", "ETag", `"a"`)
	f := func(action Action, why Reason, after int64, method string, pairs ...string) {
		t.Helper()
		if d := decided(request(method, pairs...), r, Unmarked, after, &o); d.Action != action || d.Reason != why {
			t.Errorf("%s %q: %d %s, want %d %s", method, pairs, d.Action, d.Reason, action, why)
		}
	}
	f(Use, Fresh, 0, "GET", "Range", "bytes=2-5")
	f(Use, Fresh, 0, "GET", "Range", "bytes=3-3")
	f(Use, Fresh, 0, "GET", "Range", "bytes=3-3", "If-Range", `"a"`)
	f(Validate, Expired, 60, "GET", "Range", "bytes=3-3")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=1-5")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=2-6")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=3-")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=-5")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=2-3,5-5")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=99-")
	f(Forward, PartMissing, 0, "GET", "Range", "nonsense")
	f(Forward, PartMissing, 0, "GET", "Range", "bytes=3-3", "If-Range", `"b"`)
	f(Forward, PartMissing, 0, "GET")
	f(Forward, PartMissing, 0, "HEAD", "Range", "bytes=3-3")
	f(GatewayTimeout, OnlyIfCachedMissed, 0, "GET", "Cache-Control", "only-if-cached")
	tail := response(206, "Cache-Control", "max-age=60", "Content-Range", "bytes 5-9/10")
	for _, ranges := range []string{"bytes=-5", "bytes=-1", "bytes=5-", "bytes=9-100"} {
		if d := decided(request("GET", "Range", ranges), tail, Unmarked, 0, &o); d.Action != Use {
			t.Errorf("%s of the end: %d %s", ranges, d.Action, d.Reason)
		}
	}
}

func TestAbsent(t *testing.T) {
	o := Defaults()
	f := func(action Action, why Reason, others bool, method string, pairs ...string) {
		t.Helper()
		if d := Absent(request(method, pairs...), others, &o); d.Action != action || d.Reason != why {
			t.Errorf("%s %q: %d %s, want %d %s", method, pairs, d.Action, d.Reason, action, why)
		}
	}
	f(Forward, URIMiss, false, "GET")
	f(Forward, VaryMiss, true, "HEAD")
	f(Forward, NotReading, true, "POST")
	f(Forward, NotReading, false, "POST", "Cache-Control", "only-if-cached")
	f(GatewayTimeout, OnlyIfCachedMissed, false, "GET", "Cache-Control", "only-if-cached")
	f(Forward, PreconditionPassed, false, "GET", "If-Match", `"a"`)
	o.PassCookies = true
	f(Forward, CookiePassed, false, "GET", "Cookie", "a=b")
}

func TestAfterFailure(t *testing.T) {
	o := Defaults()
	f := func(action Action, why Reason, failure Failure, after int64, cacheControl string, pairs ...string) {
		t.Helper()
		r := response(200, "Cache-Control", cacheControl)
		d := AfterFailure(request("GET", pairs...), r, Unmarked, failure, later(after), &o)
		if d.Action != action || d.Reason != why || d.Age != after {
			t.Errorf("%s after %d, %q: got %+v, want %d %s", cacheControl, after, pairs, d, action, why)
		}
	}
	// No answer at all: an hour, unless it is forbidden.
	f(Use, StaleDisconnected, Disconnected, 60, "max-age=60")
	f(Use, StaleDisconnected, Disconnected, 3660, "max-age=60")
	f(GatewayTimeout, OriginSilent, Disconnected, 3661, "max-age=60")
	f(GatewayTimeout, OriginSilent, Disconnected, 61, "max-age=60, must-revalidate")
	f(GatewayTimeout, OriginSilent, Disconnected, 61, "max-age=60, proxy-revalidate")
	f(GatewayTimeout, OriginSilent, Disconnected, 61, "max-age=60, no-cache")
	f(GatewayTimeout, OriginSilent, Disconnected, 61, "s-maxage=60")
	f(Use, StaleDisconnected, Disconnected, 61, `max-age=60, no-cache="a"`)
	// An error is no disconnection (RFC 5861, section 4).
	f(PassOn, OriginFailed, Failed, 61, "max-age=60")
	f(Use, StaleError, Failed, 61, "max-age=60, stale-if-error=10")
	f(Use, StaleError, Failed, 70, "max-age=60, stale-if-error=10")
	f(PassOn, OriginFailed, Failed, 71, "max-age=60, stale-if-error=10")
	f(Use, StaleError, Failed, 70, "max-age=60", "Cache-Control", "stale-if-error=10")
	f(PassOn, OriginFailed, Failed, 71, "max-age=60", "Cache-Control", "stale-if-error=10")
	f(PassOn, OriginFailed, Failed, 61, "max-age=60, must-revalidate, stale-if-error=10")
	f(Use, StaleError, Disconnected, 61, "max-age=60, stale-if-error=10")
	f(Use, StaleError, Failed, 61, "s-maxage=60, stale-if-error=10")
	f(Use, StaleError, Disconnected, 61, "s-maxage=60, stale-if-error=10")
	f(GatewayTimeout, OriginSilent, Disconnected, 71, "s-maxage=60, stale-if-error=10")
	f(PassOn, OriginFailed, Failed, 61, "s-maxage=60", "Cache-Control", "stale-if-error=10")
	// The response is fresh, but the client required validation.
	f(Use, StaleDisconnected, Disconnected, 0, "max-age=60", "Cache-Control", "no-cache")
}

func TestAfterFailureOtherCases(t *testing.T) {
	o := Defaults()
	r := response(200, "Cache-Control", "max-age=60, stale-if-error=600")
	f := func(action Action, q *Request, r *Response, m Mark, failure Failure) {
		t.Helper()
		if d := AfterFailure(q, r, m, failure, later(61), &o); d.Action != action {
			t.Errorf("got %+v, want the action %d", d, action)
		}
	}
	get := request("GET")
	f(Use, get, r, Unmarked, Failed)
	f(Use, get, r, Outdated, Failed)
	f(PassOn, get, r, Invalid, Failed)
	f(GatewayTimeout, get, r, Invalid, Disconnected)
	f(PassOn, get, nil, Unmarked, Failed)
	f(BadGateway, get, nil, Unmarked, Disconnected)
	f(BadGateway, request("POST"), nil, Unmarked, Disconnected)
	f(PassOn, request("GET", "If-Match", "*"), r, Unmarked, Failed)
	o.IgnoreRequestDirectives = true
	f(PassOn, request("GET", "Cache-Control", "stale-if-error=600"), response(200, "Cache-Control", "max-age=60"), Unmarked, Failed)
	o = Defaults()
	o.StaleIfDisconnected = 0
	f(GatewayTimeout, get, response(200, "Cache-Control", "max-age=60"), Unmarked, Disconnected)
	o.StaleIfError = 5
	f(Use, get, responseWith(&o, 200, "Cache-Control", "max-age=60"), Unmarked, Failed)
	f(PassOn, get, responseWith(&o, 200, "Cache-Control", "max-age=60, stale-if-error=0"), Unmarked, Failed)
	f(PassOn, get, responseWith(&o, 200, "Cache-Control", "s-maxage=60"), Unmarked, Failed)
	part := response(206, "Cache-Control", "max-age=60, stale-if-error=600", "Content-Range", "bytes 2-5/10")
	f(Use, request("GET", "Range", "bytes=2-3"), part, Unmarked, Failed)
	f(PassOn, request("GET", "Range", "bytes=0-3"), part, Unmarked, Failed)
}

func TestFailing(t *testing.T) {
	for status := 100; status < 1000; status++ {
		want := status == 500 || status == 502 || status == 503 || status == 504
		if Failing(status) != want {
			t.Errorf("Failing(%d) = %t, want %t", status, Failing(status), want)
		}
	}
}
