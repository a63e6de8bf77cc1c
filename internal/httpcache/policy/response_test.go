package policy

import (
	"strings"
	"testing"
)

// at is a date some seconds from the reception of the tests' responses.
func at(seconds int64) string { return string(AppendDate(nil, in2026+seconds)) }

// response parses a response requested and received at the time then, with the default
// options and a Date of then unless the fields have one.
func response(status int, pairs ...string) *Response {
	o := Defaults()
	return responseWith(&o, status, pairs...)
}

func responseWith(o *Options, status int, pairs ...string) *Response {
	r := ParseResponse(status, fieldsOf(pairs...), then, then, o)
	return &r
}

func TestLifetime(t *testing.T) {
	f := func(source Source, lifetime int64, pairs ...string) {
		t.Helper()
		r := response(200, pairs...)
		if r.Source != source || r.Lifetime != lifetime {
			t.Errorf("%q\n  lifetime %d from %d, want %d from %d", pairs, r.Lifetime, r.Source, lifetime, source)
		}
	}
	f(Unknown, 0)
	f(Unknown, 0, "ETag", `"a"`)
	f(FromMaxAge, 60, "Cache-Control", "max-age=60")
	f(FromShared, 0, "Cache-Control", "max-age=60, s-maxage=0")
	f(FromShared, 100, "Cache-Control", "s-maxage=100", "Cache-Control", "max-age=60")
	f(FromMaxAge, 0, "Cache-Control", "max-age=nonsense", "Expires", at(60))
	f(FromMaxAge, 0, "Cache-Control", "max-age=0", "Expires", at(60))
	f(FromMaxAge, 10_000_000_000, "Cache-Control", "max-age=10000000000")
	// Expires counts from Date, whatever the local clock.
	f(FromExpires, 60, "Expires", at(60))
	f(FromExpires, 0, "Expires", at(0))
	f(FromExpires, -100, "Expires", at(300), "Date", at(400))
	f(FromExpires, 20, "Expires", at(10), "Date", at(-10))
	f(FromExpires, 60, "Expires", at(60), "Date", "nonsense")
	f(FromExpires, 60, "Expires", at(60), "Date", "")
	f(FromExpires, 0, "Expires", "0")
	f(FromExpires, 0, "Expires", "")
	f(FromExpires, 0, "Expires", "-1")
	f(FromExpires, 0, "Expires", strings.Replace(at(60), "GMT", "UTC", 1))
	f(FromExpires, 0, "Expires", at(60), "Expires", at(60))
	f(FromExpires, 0, "Expires", "0", "Last-Modified", at(-1000))
	f(FromExpires, 8208233999, "Expires", "Wed, 01 Jan 2287 00:00:00 GMT", "Date", "Sun, 22 Nov 2026 07:00:01 GMT")
	// A tenth of the time since it changed, at most a day.
	f(FromModified, 100, "Last-Modified", at(-1000))
	f(FromModified, 90, "Last-Modified", at(-1000), "Date", at(-100))
	f(FromModified, 0, "Last-Modified", at(-9))
	f(FromModified, 86400, "Last-Modified", at(-9_000_000))
	f(Unknown, 0, "Last-Modified", at(0))
	f(Unknown, 0, "Last-Modified", at(10))
	f(Unknown, 0, "Last-Modified", "nonsense")
}

func TestLifetimeByStatus(t *testing.T) {
	f := func(status int, source Source) {
		t.Helper()
		if r := response(status, "Last-Modified", at(-1000)); r.Source != source {
			t.Errorf("%d: source %d", status, r.Source)
		}
		if r := response(status, "Last-Modified", at(-1000), "Cache-Control", "public"); r.Source != FromModified {
			t.Errorf("%d with public: source %d", status, r.Source)
		}
		if r := response(status, "Cache-Control", "max-age=1"); r.Lifetime != 1 {
			t.Errorf("%d with max-age: lifetime %d", status, r.Lifetime)
		}
	}
	for _, status := range []int{200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501} {
		f(status, FromModified)
	}
	for _, status := range []int{201, 202, 299, 302, 303, 307, 400, 403, 416, 429, 499, 500, 502, 503, 504, 599} {
		f(status, Unknown)
	}
}

func TestLifetimeOfTargetedField(t *testing.T) {
	f := func(source Source, lifetime int64, pairs ...string) {
		t.Helper()
		r := response(200, pairs...)
		if r.Source != source || r.Lifetime != lifetime {
			t.Errorf("%q\n  lifetime %d from %d, want %d from %d", pairs, r.Lifetime, r.Source, lifetime, source)
		}
	}
	f(FromMaxAge, 1, "CDN-Cache-Control", "max-age=1", "Cache-Control", "max-age=60, s-maxage=60", "Expires", at(60))
	f(FromMaxAge, 0, "CDN-Cache-Control", "max-age=0", "Expires", at(60))
	f(FromShared, 2, "CDN-Cache-Control", "max-age=1, s-maxage=2")
	f(Unknown, 0, "CDN-Cache-Control", "foo", "Cache-Control", "max-age=60", "Expires", at(60))
	f(FromModified, 100, "CDN-Cache-Control", "foo", "Cache-Control", "max-age=60", "Last-Modified", at(-1000))
	f(FromMaxAge, 60, "CDN-Cache-Control", `max-age="1"`, "Cache-Control", "max-age=60")
	f(FromMaxAge, 60, "CDN-Cache-Control", "", "Cache-Control", "max-age=60")
	f(FromMaxAge, 60, "Surrogate-Control", "max-age=1", "Cache-Control", "max-age=60")
	r := response(200, "CDN-Cache-Control", "max-age=1", "Cache-Control", `no-store, private="a", stale-if-error=9`)
	if r.Directives != 0 || r.Hidden != nil || r.ifError.seconds != 0 {
		t.Errorf("Cache-Control counts beside CDN-Cache-Control: %+v", r)
	}
}

func TestLifetimeOptions(t *testing.T) {
	f := func(set func(o *Options), status int, source Source, lifetime int64, pairs ...string) {
		t.Helper()
		o := Defaults()
		set(&o)
		r := responseWith(&o, status, pairs...)
		if r.Source != source || r.Lifetime != lifetime {
			t.Errorf("%d %q\n  lifetime %d from %d, want %d from %d", status, pairs, r.Lifetime, r.Source, lifetime, source)
		}
	}
	ttl := func(o *Options) { o.DefaultTTL = 30 }
	f(ttl, 200, FromOptions, 30)
	f(ttl, 404, FromOptions, 30)
	f(ttl, 500, Unknown, 0)
	f(ttl, 500, FromOptions, 30, "Cache-Control", "public")
	f(ttl, 200, FromModified, 100, "Last-Modified", at(-1000))
	f(ttl, 200, FromMaxAge, 0, "Cache-Control", "max-age=0")
	f(ttl, 200, FromExpires, 0, "Expires", "0")
	f(func(o *Options) { o.Heuristic = 0 }, 200, Unknown, 0, "Last-Modified", at(-1000))
	f(func(o *Options) { o.Heuristic = 50 }, 200, FromModified, 500, "Last-Modified", at(-1000))
	f(func(o *Options) { o.HeuristicMax = 60 }, 200, FromModified, 60, "Last-Modified", at(-1000))
	f(func(o *Options) { o.Targets = nil }, 200, FromMaxAge, 60, "CDN-Cache-Control", "max-age=1", "Cache-Control", "max-age=60")
}

func TestAge(t *testing.T) {
	f := func(now, want int64, pairs ...string) {
		t.Helper()
		if got := response(200, pairs...).Age(later(now)); got != want {
			t.Errorf("%q at %d: age %d, want %d", pairs, now, got, want)
		}
	}
	f(0, 0)
	f(10, 10)
	f(10, 40, "Age", "30")
	f(10, 30, "Date", at(-20))
	f(10, 35, "Date", at(-20), "Age", "25")
	f(10, 30, "Date", at(-20), "Age", "15")
	f(10, 10, "Date", at(100))
	f(-10, 30, "Age", "30")
	// The first member of the first line, if it is a number.
	f(0, 7200, "Age", "7200, 0")
	f(0, 0, "Age", "0, 7200")
	f(0, 7200, "Age", "7200", "Age", "0")
	f(0, 0, "Age", "0", "Age", "7200")
	f(0, 0, "Age", "abc")
	f(0, 0, "Age", "-7200")
	f(0, 0, "Age", "7200.0")
	f(0, 0, "Age", "7200;x=y")
	f(0, 0, "Age", "")
	f(0, 0, "Age", "abc", "Age", "7200")
	f(0, 2147483648, "Age", "2147483648")
	f(10, maxDelta+10, "Age", "99999999999999999999999999")
}

// TestAgeOfSlowResponses counts the transfer time, which Age can't include.
func TestAgeOfSlowResponses(t *testing.T) {
	o := Defaults()
	f := func(want int64, pairs ...string) {
		t.Helper()
		r := ParseResponse(200, fieldsOf(pairs...), later(-5), then, &o)
		if got := r.Age(later(1)); got != want {
			t.Errorf("%q: age %d, want %d", pairs, got, want)
		}
	}
	f(6)
	f(6, "Date", at(0))
	f(36, "Age", "30")
	f(21, "Date", at(-20), "Age", "10")
	r := ParseResponse(200, nil, later(5), then, &o)
	if got := r.Age(then); got != 0 {
		t.Errorf("a clock set back during the transfer: age %d, want 0", got)
	}
}

func TestResponseFacts(t *testing.T) {
	r := response(206, "etag", `W/"a"`, "ETag", `"b"`, "Last-Modified", at(-5), "Vary", "B, a", "VARY", "b,", "Set-Cookie", "x",
		"Content-Language", "de", "Content-Range", "bytes 2-5/10", "Cache-Control", `private="X", no-cache="y"`)
	if string(r.ETag.Value) != `W/"a"` || r.ETag.Kind != WeakTag || string(r.LastModified) != at(-5) {
		t.Errorf("validators %q %q", r.ETag.Value, r.LastModified)
	}
	if strings.Join(r.Vary, " ") != "a b" || r.VaryAll || strings.Join(r.Hidden, " ") != "x y" {
		t.Errorf("Vary %q %t, hidden %q", r.Vary, r.VaryAll, r.Hidden)
	}
	if !r.SetCookie || string(r.Language) != "de" || r.Part != (Part{2, 5, 10}) {
		t.Errorf("got SetCookie %t, Language %q, Part %v", r.SetCookie, r.Language, r.Part)
	}
	if r := response(200, "Content-Range", "bytes 2-5/10"); r.Part.Known() {
		t.Error("a 200 is no part")
	}
}

func TestVaryAll(t *testing.T) {
	f := func(want bool, lines ...string) {
		t.Helper()
		var pairs []string
		for _, l := range lines {
			pairs = append(pairs, "Vary", l)
		}
		if got := response(200, pairs...).VaryAll; got != want {
			t.Errorf("Vary %q: VaryAll %t, want %t", lines, got, want)
		}
	}
	f(true, "*")
	f(true, "*, *")
	f(true, "*", "*")
	f(true, ", *")
	f(true, "", "*")
	f(true, "*, Foo")
	f(true, "Foo, *")
	f(false, "")
	f(false, "Foo*")
}

func TestETags(t *testing.T) {
	f := func(tag string, kind TagKind) {
		t.Helper()
		if got := ParseETag([]byte(tag)); got.Kind != kind || string(got.Value) != tag {
			t.Errorf("%q: got the kind %d, want %d", tag, got.Kind, kind)
		}
	}
	f("", NoTag)
	f(`"a"`, StrongTag)
	f(`""`, StrongTag)
	f("\"\xe4\"", StrongTag)
	f(`"a\"`, StrongTag)
	f(`W/"a"`, WeakTag)
	f(`w/"a"`, OpaqueTag)
	f("a", OpaqueTag)
	f("'a'", OpaqueTag)
	f(`"a`, OpaqueTag)
	f(`"a b"`, OpaqueTag)
	f(`"a", "b"`, OpaqueTag)
	f(`"a"b`, OpaqueTag)
	f("W/", OpaqueTag)
	f("*", OpaqueTag)
}

func TestParts(t *testing.T) {
	f := func(value string, want Part) {
		t.Helper()
		if got := response(206, "Content-Range", value).Part; got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	f("bytes 0-9/10", Part{0, 9, 10})
	f("BYTES 4-4/10", Part{4, 4, 10})
	var no Part
	f("bytes 4-3/10", no)
	f("bytes 4-10/10", no)
	f("bytes 4-9/*", no)
	f("bytes */10", no)
	f("bytes 4-9", no)
	f("bytes=4-9/10", no)
	f("bytes  4-9/10", no)
	f("items 4-9/10", no)
	f("bytes -4-9/10", no)
	f("bytes 4-9/10 ", no)
	f("bytes 4-9/99999999999999999999", no)
	f("", no)
	if response(206, "Content-Range", "bytes 0-9/10", "Content-Range", "bytes 0-9/10").Part != no {
		t.Error("two lines make no part")
	}
	if response(206).Part.Known() {
		t.Error("a part without Content-Range")
	}
}

func TestPartFits(t *testing.T) {
	loose := Defaults()
	loose.LooseParts = true
	strict := Defaults()
	f := func(o *Options, p Part, body int64, want Part, ok bool) {
		t.Helper()
		if got, fits := p.Fit(body, o); fits != ok || got != want {
			t.Errorf("%v with %d bytes: got %v %t, want %v %t", p, body, got, fits, want, ok)
		}
	}
	f(&strict, Part{4, 9, 10}, 6, Part{4, 9, 10}, true)
	f(&strict, Part{4, 9, 10}, 5, Part{}, false)
	f(&strict, Part{4, 9, 10}, 7, Part{}, false)
	f(&strict, Part{}, 1, Part{}, false)
	f(&loose, Part{4, 9, 10}, 6, Part{4, 9, 10}, true)
	f(&loose, Part{4, 9, 10}, 5, Part{4, 8, 9}, true)
	f(&loose, Part{4, 8, 10}, 4, Part{4, 7, 10}, true)
	f(&loose, Part{4, 9, 10}, 7, Part{}, false)
	f(&loose, Part{4, 9, 10}, 0, Part{}, false)
}
