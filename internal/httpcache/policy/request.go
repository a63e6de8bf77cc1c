package policy

import (
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Method is what a cache needs to know of a request's method.
type Method uint8

// The methods. Other stands for all that are unsafe, unknown ones among them.
const (
	Other Method = iota
	GET
	HEAD
	POST
	OPTIONS
	TRACE
)

// MethodOf tells the method from its name, which is case-sensitive.
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

// Traits are the fields of a request that a cache looks at.
type Traits uint16

// The traits, each set when the field is there.
const (
	HasAuthorization Traits = 1 << iota
	HasCookie
	HasRange
	HasIfRange
	HasIfNoneMatch
	HasIfModifiedSince
	HasIfMatch  // or If-Unmodified-Since: preconditions that only the origin can evaluate
	HasOverride // of the method: X-HTTP-Method-Override and its kin
)

// Has says whether one of want is there.
func (t Traits) Has(want Traits) bool { return t&want != 0 }

// none stands for a number that was not given.
const none = -1

// anyAge is the argument of a max-stale without one.
const anyAge = 1 << 60

// Request is what a request asks of a cache. Its slices, and Fields itself, are
// those that were parsed: it lives as long as the request does.
type Request struct {
	Fields     http1.Fields
	Method     Method
	Traits     Traits
	Directives Directives

	// MaxAge, MinFresh, MaxStale and StaleIfError are arguments of
	// Cache-Control in seconds; -1 where the directive is missing or malformed.
	// A max-stale without argument allows any age.
	MaxAge, MinFresh, MaxStale, StaleIfError int64

	// Range, IfRange and IfModifiedSince are the values of these fields. A
	// field that comes twice has none: it says nothing that could be acted on.
	Range, IfRange, IfModifiedSince []byte
}

// ParseRequest fills q from a request's method and fields, in one pass and
// without allocating. Nothing of what q held before counts.
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

// override notes a field that stands for the method and has the length of name. An
// underscore counts as a hyphen, as it does to many origins.
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

// single notes a field that has one value. With a second line it has none.
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

// noCache says whether a line of Pragma has the directive of that name.
func noCache(value []byte) bool {
	for len(value) > 0 {
		var member []byte
		if member, value = cutMember(value); ascii.EqualFold(member, "no-cache") {
			return true
		}
	}
	return false
}

// control takes in one line of Cache-Control.
func (q *Request) control(value []byte) {
	for len(value) > 0 {
		var member []byte
		member, value = cutMember(value)
		if d, ok := parseDirective(member); ok {
			q.directive(&d)
		}
	}
}

// directive takes in one directive: of those with a number the first that is
// well formed. An argument where none belongs changes nothing.
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

// Reading says whether the request asks for what a URI holds: by GET or HEAD, and
// without asking an origin that heeds it to take it for another method.
func (q *Request) Reading() bool {
	return (q.Method == GET || q.Method == HEAD) && !q.Traits.Has(HasOverride)
}

// Unsafe says whether the method may change what its URI holds: every method
// but GET, HEAD, OPTIONS and TRACE does, unknown ones too (RFC 9110, section 9.2.1).
func (q *Request) Unsafe() bool { return q.Method == Other || q.Method == POST }
