package policy

import "testing"

func TestStorable(t *testing.T) {
	o := Defaults()
	f := func(want Reason, q *Request, r *Response) {
		t.Helper()
		ok, got := Storable(q, r, &o)
		if got != want || ok != (want == Stored) {
			t.Errorf("got %t %s, want %s", ok, got, want)
		}
	}
	get := request("GET")
	fresh := response(200, "Cache-Control", "max-age=60")
	f(Stored, get, fresh)
	// Methods (RFC 9110, section 9.3).
	f(MethodNotStored, request("HEAD"), fresh)
	f(MethodNotStored, request("POST"), fresh)
	f(MethodNotStored, request("OPTIONS"), fresh)
	f(MethodNotStored, request("M-SEARCH"), fresh)
	// Directives of the request.
	f(RequestNoStore, request("GET", "Cache-Control", "no-store"), fresh)
	f(Stored, request("GET", "Cache-Control", "no-cache, max-age=0"), fresh)
	f(PreconditionNotStored, request("GET", "If-Match", `"a"`), fresh)
	f(Stored, request("GET", "Cookie", "a=b"), fresh)
	// Final statuses, with explicit freshness whatever they mean.
	for _, status := range []int{200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 416, 499, 500, 502, 503, 504, 599} {
		f(Stored, get, response(status, "Cache-Control", "max-age=60"))
	}
	for _, status := range []int{100, 103, 199, 304, 600, 999} {
		f(StatusNotStored, get, response(status, "Cache-Control", "max-age=60"))
	}
	// no-store and must-understand (RFC 9111, section 5.2.2.3).
	f(ResponseNoStore, get, response(200, "Cache-Control", "max-age=60, no-store"))
	f(Stored, get, response(200, "Cache-Control", "max-age=60, no-store, must-understand"))
	f(Stored, get, response(302, "Cache-Control", "max-age=60, no-store, must-understand"))
	f(NotUnderstood, get, response(599, "Cache-Control", "max-age=60, no-store, must-understand"))
	f(NotUnderstood, get, response(599, "Cache-Control", "max-age=60, must-understand"))
	f(NotUnderstood, get, response(500, "Cache-Control", "max-age=60, must-understand"))
	f(ResponsePrivate, get, response(200, "Cache-Control", "max-age=60, private"))
	f(Stored, get, response(200, "Cache-Control", `max-age=60, private="a"`))
	f(ResponsePrivate, get, response(200, "Cache-Control", `max-age=60, private="a", private`))
	f(VaryAll, get, response(200, "Cache-Control", "max-age=60", "Vary", "Foo, *"))
	// Authorization (RFC 9111, section 3.5).
	auth := request("GET", "Authorization", "Basic x")
	f(Authorized, auth, fresh)
	f(Authorized, auth, response(200, "Expires", at(60)))
	f(Authorized, auth, response(200, "Cache-Control", "max-age=60, proxy-revalidate"))
	f(Stored, auth, response(200, "Cache-Control", "max-age=60, public"))
	f(Stored, auth, response(200, "Cache-Control", "max-age=60, must-revalidate"))
	f(Stored, auth, response(200, "Cache-Control", "s-maxage=60"))
	// Storing is allowed by explicit freshness, public, or the status.
	f(NoPermission, get, response(403, "Last-Modified", at(-1000)))
	f(NoPermission, get, response(302, "ETag", `"a"`))
	f(Stored, get, response(403, "Last-Modified", at(-1000), "Cache-Control", "public"))
	f(Stored, get, response(404, "Last-Modified", at(-1000)))
	f(Stored, get, response(404, "ETag", `"a"`))
	// The response can be reused.
	f(NeverFresh, get, response(200))
	f(NeverFresh, get, response(200, "Cache-Control", "max-age=0"))
	f(NeverFresh, get, response(200, "Expires", "0"))
	f(Stored, get, response(200, "Cache-Control", "max-age=0", "ETag", `"a"`))
	f(Stored, get, response(200, "Cache-Control", "max-age=0", "Last-Modified", "whatever it means"))
	f(Stored, get, response(200, "Cache-Control", "max-age=0, stale-while-revalidate=5"))
	f(Stored, get, response(200, "Cache-Control", "max-age=0, stale-if-error=5"))
	f(NothingToValidate, get, response(200, "Cache-Control", "max-age=60, no-cache"))
	f(Stored, get, response(200, "Cache-Control", "max-age=60, no-cache", "ETag", "a"))
	f(Stored, get, response(200, "Cache-Control", `max-age=60, no-cache="a"`))
	// The targeted field decides alone (RFC 9213).
	f(Stored, get, response(200, "CDN-Cache-Control", "max-age=60", "Cache-Control", "no-store, private"))
	f(ResponseNoStore, get, response(200, "CDN-Cache-Control", "no-store", "Cache-Control", "max-age=60"))
	f(ResponsePrivate, get, response(200, "CDN-Cache-Control", "private", "Cache-Control", "max-age=60"))
	f(NeverFresh, get, response(200, "CDN-Cache-Control", "foo", "Cache-Control", "max-age=60"))
}

func TestStorableCookies(t *testing.T) {
	f := func(rule CookieRule, want Reason, pairs ...string) {
		t.Helper()
		o := Defaults()
		o.SetCookie = rule
		if _, got := Storable(request("GET"), responseWith(&o, 200, append(pairs, "Set-Cookie", "a=b")...), &o); got != want {
			t.Errorf("rule %d, %q: got %s, want %s", rule, pairs, got, want)
		}
	}
	f(StoreCookies, Stored, "Cache-Control", "max-age=60")
	f(StoreCookies, Stored, "Expires", at(60))
	f(StoreCookies, Stored, "CDN-Cache-Control", "max-age=60")
	f(StoreCookies, SetsCookie, "Last-Modified", at(-1000))
	f(StoreCookies, SetsCookie, "Cache-Control", "public", "ETag", `"a"`)
	f(StoreCookies, ResponsePrivate, "Cache-Control", "max-age=60, private")
	f(RefuseCookies, SetsCookie, "Cache-Control", "max-age=60")
	f(StripCookies, Stored, "Cache-Control", "max-age=60")
	f(StripCookies, Stored, "Last-Modified", at(-1000))
	f(Defaults().SetCookie, SetsCookie, "Cache-Control", "public, max-age=60")
	o := Defaults()
	o.PassCookies = true
	if _, got := Storable(request("GET", "Cookie", "a=b"), response(200, "Cache-Control", "max-age=60"), &o); got != CookieNotStored {
		t.Errorf("cookies passed: %s", got)
	}
}

// TestHeuristicAndCookie checks that heuristic freshness is not used for requests with a
// Cookie: the response is not stored, and a stored one does not answer.
func TestHeuristicAndCookie(t *testing.T) {
	f := func(change func(*Options), stored, used Reason, pairs ...string) {
		t.Helper()
		o := Defaults()
		change(&o)
		q, r := request("GET", "Cookie", "a=b"), responseWith(&o, 200, pairs...)
		if _, got := Storable(q, r, &o); got != stored {
			t.Errorf("%q: got %s; want %s", pairs, got, stored)
		}
		if d := Decide(q, r, Unmarked, then, &o); d.Reason != used {
			t.Errorf("%q: decided %s; want %s", pairs, d.Reason, used)
		}
		if _, got := Storable(request("GET"), r, &o); got != Stored {
			t.Errorf("%q without a cookie: %s", pairs, got)
		}
	}
	defaults := func(*Options) {}
	f(defaults, HeuristicNotStored, HeuristicPassed, "Last-Modified", at(-1000))
	f(defaults, HeuristicNotStored, HeuristicPassed, "Last-Modified", at(-1000), "Cache-Control", "public")
	f(defaults, HeuristicNotStored, HeuristicPassed, "Last-Modified", at(-1000), "Vary", "Cookie")
	f(defaults, Stored, Fresh, "Last-Modified", at(-1000), "Cache-Control", "max-age=60")
	f(func(o *Options) { o.DefaultTTL = 60 }, Stored, FreshByOptions)
	f(func(o *Options) { o.DefaultTTL, o.Heuristic = 60, 0 }, Stored, FreshByOptions, "Last-Modified", at(-1000))
}

func TestStorableParts(t *testing.T) {
	o := Defaults()
	f := func(want Reason, q *Request, status int, contentRange string) {
		t.Helper()
		r := response(status, "Cache-Control", "max-age=60", "Content-Range", contentRange)
		if _, got := Storable(q, r, &o); got != want {
			t.Errorf("%d %s: got %s, want %s", status, contentRange, got, want)
		}
	}
	ranged := request("GET", "Range", "bytes=0-4")
	f(Stored, ranged, 206, "bytes 0-4/10")
	f(PartNotStored, ranged, 206, "bytes 0-4/*")
	f(PartNotStored, ranged, 206, "")
	f(PartNotStored, request("GET"), 206, "bytes 0-4/10")
	f(PartNotStored, ranged, 416, "bytes */10")
	// Only a 206 is a part, whatever the fields.
	f(Stored, ranged, 200, "bytes 0-4/10")
	f(Stored, request("GET"), 200, "nonsense")
}

func TestPostStorable(t *testing.T) {
	o := Defaults()
	u := URI{"http", "example.com", "/a?b"}
	f := func(want Reason, q *Request, status int, pairs ...string) {
		t.Helper()
		ok, got := PostStorable(q, response(status, pairs...), u, fieldsOf(pairs...), &o)
		if got != want || ok != (want == Stored) {
			t.Errorf("%d %q: %t %s, want %s", status, pairs, ok, got, want)
		}
	}
	post := request("POST")
	f(Stored, post, 200, "Cache-Control", "max-age=60", "Content-Location", "/a?b")
	f(Stored, post, 200, "Cache-Control", "max-age=60", "content-location", "http://EXAMPLE.com:80/a?b")
	f(Stored, post, 200, "Expires", at(60), "Content-Location", "?b")
	f(Elsewhere, post, 200, "Cache-Control", "max-age=60", "Content-Location", "/a")
	f(Elsewhere, post, 200, "Cache-Control", "max-age=60", "Content-Location", "http://example.org/a?b")
	f(Elsewhere, post, 200, "Cache-Control", "max-age=60")
	f(Elsewhere, post, 201, "Cache-Control", "max-age=60", "Content-Location", "/a?b")
	f(Elsewhere, post, 200, "Last-Modified", at(-1000), "Content-Location", "/a?b")
	f(Elsewhere, request("PUT"), 200, "Cache-Control", "max-age=60", "Content-Location", "/a?b")
	f(Elsewhere, request("POST", "X-HTTP-Method-Override", "GET"), 200, "Cache-Control", "max-age=60", "Content-Location", "/a?b")
	f(ResponseNoStore, post, 200, "Cache-Control", "max-age=60, no-store", "Content-Location", "/a?b")
	f(RequestNoStore, request("POST", "Cache-Control", "no-store"), 200, "Cache-Control", "max-age=60", "Content-Location", "/a?b")
}
