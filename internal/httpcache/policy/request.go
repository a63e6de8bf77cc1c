package policy

import (
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Method is a request method as far as caching depends on it.
type Method uint8

// The methods. Other is any other method, including unknown ones, and counts as unsafe.
const (
	Other Method = iota
	GET
	HEAD
	POST
	OPTIONS
	TRACE
)

// MethodOf returns the method of that name, which is case-sensitive.
func MethodOf(name []byte) Method {
	switch string(name) {
	case "GET":
		return GET
	case "HEAD":
		return HEAD
	case "POST":
		return POST
	case "OPTIONS":
		return OPTIONS
	case "TRACE":
		return TRACE
	}
	return Other
}

// Traits is the set of caching-related fields in a request.
type Traits uint16

// The traits, each set if the field is present.
const (
	HasAuthorization Traits = 1 << iota
	HasCookie
	HasRange
	HasIfRange
	HasIfNoneMatch
	HasIfModifiedSince
	HasIfMatch  // or If-Unmodified-Since: preconditions that only the origin can evaluate
	HasOverride // of the method: X-HTTP-Method-Override and similar fields
)

// Has reports whether one of want is set.
func (t Traits) Has(want Traits) bool { return t&want != 0 }

// none represents a missing number.
const none = -1

// anyAge is the value of a max-stale without an argument.
const anyAge = 1 << 60

// Request is a request as far as caching depends on it. Fields and its slices alias the
// parsed memory: it is valid as long as the request is.
type Request struct {
	Fields     http1.Fields
	Method     Method
	Traits     Traits
	Directives Directives

	// MaxAge, MinFresh, MaxStale and StaleIfError are arguments of Cache-Control in seconds;
	// -1 if the directive is missing or malformed. A max-stale without argument allows any
	// age.
	MaxAge, MinFresh, MaxStale, StaleIfError int64

	// Range, IfRange and IfModifiedSince are the values of these fields. A repeated field is
	// ambiguous and has none.
	Range, IfRange, IfModifiedSince []byte
}

// ParseRequest sets q from a request's method and fields, in one pass and without
// allocating. It overwrites all previous contents of q.
func ParseRequest(q *Request, method []byte, h http1.Fields, o *Options) {
	*q = Request{Fields: h, Method: MethodOf(method), MaxAge: none, MinFresh: none, MaxStale: none, StaleIfError: none}
	control, pragma := false, false
	for i := range h {
		f := &h[i]
		switch len(f.Name) {
		case len("range"):
			q.single(f, "range", HasRange, &q.Range)
		case len("pragma"):
			q.trait(f, "cookie", HasCookie)
			pragma = pragma || ascii.EqualFold(f.Name, "pragma") && noCache(f.Value)
		case len("if-match"):
			q.trait(f, "if-match", HasIfMatch)
			q.single(f, "if-range", HasIfRange, &q.IfRange)
		case len("x-http-method-override"):
			q.override(f, "x-http-method-override")
		case len("cache-control"):
			q.override(f, "x-http-method")
			q.trait(f, "authorization", HasAuthorization)
			q.trait(f, "if-none-match", HasIfNoneMatch)
			if ascii.EqualFold(f.Name, "cache-control") {
				control = true
				q.control(f.Value)
			}
		case len("if-modified-since"): // and x-method-override
			q.override(f, "x-method-override")
			q.single(f, "if-modified-since", HasIfModifiedSince, &q.IfModifiedSince)
		case len("if-unmodified-since"):
			q.trait(f, "if-unmodified-since", HasIfMatch)
		}
	}
	if pragma && !control {
		q.Directives |= NoCache
	}
}

func (q *Request) trait(f *http1.Field, name string, t Traits) {
	if ascii.EqualFold(f.Name, name) {
		q.Traits |= t
	}
}

// override sets HasOverride if f has that name. An underscore equals a hyphen, as it does
// for many origins.
func (q *Request) override(f *http1.Field, name string) {
	for i, c := range f.Name {
		if c == '_' {
			c = '-'
		} else if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != name[i] {
			return
		}
	}
	q.Traits |= HasOverride
}

// single stores the value of a singleton field. With a second line there is none.
func (q *Request) single(f *http1.Field, name string, t Traits, value *[]byte) {
	switch {
	case !ascii.EqualFold(f.Name, name):
	case q.Traits.Has(t):
		*value = nil
	default:
		q.Traits |= t
		*value = f.Value
	}
}

// noCache reports whether a line of Pragma has the directive no-cache.
func noCache(value []byte) bool {
	for len(value) > 0 {
		var member []byte
		if member, value = cutMember(value); ascii.EqualFold(member, "no-cache") {
			return true
		}
	}
	return false
}

// control parses a line of Cache-Control.
func (q *Request) control(value []byte) {
	for len(value) > 0 {
		var member []byte
		member, value = cutMember(value)
		if d, ok := parseDirective(member); ok {
			q.directive(&d)
		}
	}
}

// directive applies a directive. Of repeated ones with a number, the first well-formed one
// counts. An unexpected argument is ignored.
func (q *Request) directive(d *directive) {
	switch len(d.name) {
	case len("max-age"):
		q.number(d, "max-age", &q.MaxAge)
	case len("max-stale"):
		q.number(d, "min-fresh", &q.MinFresh)
		if d.kind == bare && ascii.EqualFold(d.name, "max-stale") && q.MaxStale == none {
			q.MaxStale = anyAge
			return
		}
		q.number(d, "max-stale", &q.MaxStale)
	case len("stale-if-error"): // and only-if-cached
		q.number(d, "stale-if-error", &q.StaleIfError)
	}
	if d.kind != unusable {
		q.Directives |= flagOf(d.name) & (NoStore | NoCache | NoTransform | OnlyIfCached)
	}
}

func (q *Request) number(d *directive, name string, to *int64) {
	if *to != none || !ascii.EqualFold(d.name, name) {
		return
	}
	if n, ok := d.seconds(); ok {
		*to = n
	}
}

// Reading reports whether the request reads the URI's content: GET or HEAD, and without a
// field that makes some origins treat it as another method.
func (q *Request) Reading() bool {
	return (q.Method == GET || q.Method == HEAD) && !q.Traits.Has(HasOverride)
}

// Unsafe reports whether the method may change the URI's content: every method except GET,
// HEAD, OPTIONS and TRACE, including unknown ones (RFC 9110, section 9.2.1).
func (q *Request) Unsafe() bool { return q.Method == Other || q.Method == POST }
