package policy

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Source says what a response's lifetime comes from.
type Source uint8

// The sources, in the order in which they count.
const (
	Unknown      Source = iota // nothing: it is never fresh
	FromShared                 // s-maxage
	FromMaxAge                 // max-age
	FromExpires                // Expires
	FromModified               // guessed from Last-Modified
	FromOptions                // Options.DefaultTTL
)

// Response is what a final response says to a cache. It is immutable once
// parsed, and holds slices of the fields that it was parsed from, which must
// therefore be memory that stays as it is.
type Response struct {
	Status int
	// Directives, and what follows from them below, are those of the policy
	// that counts here: a targeted field's, or Cache-Control's.
	Directives Directives
	Source     Source
	// RequestTime is when the request was sent, ResponseTime when the head of
	// the response had come.
	RequestTime, ResponseTime Moment
	// Date is the Date field in Unix seconds, or the second of ResponseTime where
	// that is missing or malformed.
	Date int64
	// Lifetime is how many seconds it is fresh, counted from its making. It
	// is negative where Expires lies before Date.
	Lifetime int64
	// StaleWhileRevalidate and StaleIfError are for how long it may be used
	// after that, in seconds; Options' values where the response has none.
	StaleWhileRevalidate, StaleIfError int64
	// ETag and LastModified are its validators, as they came.
	ETag         ETag
	LastModified []byte
	// Vary are the names of the fields that chose this response, Options.Keyed among
	// them: in lower
	// case, sorted, each once. VaryAll says that "*" was among them, so that
	// it answers no other request.
	Vary    []string
	VaryAll bool
	// Hidden are the fields, in lower case, that hits go without: those that
	// no-cache and private named.
	Hidden []string
	// Language is Content-Language if there is exactly one.
	Language []byte
	// Part is what a 206 has of the whole.
	Part Part
	// SetCookie says that there is such a field.
	SetCookie bool

	created     Moment // when its age was 0
	modified    int64  // Last-Modified as a time
	hasModified bool   // Last-Modified is one
	staleSWR    bool   // stale-while-revalidate is the response's own
	staleSIE    bool   // stale-if-error is the response's own
}

// Explicit says that the response itself says how long it is fresh, even if it
// does so in a malformed way.
func (r *Response) Explicit() bool { return r.Source >= FromShared && r.Source <= FromExpires }

// ParseResponse reads a final response's status and fields. The times are when
// its request was sent and when its head had come. h without connection-specific
// fields ([EndToEnd]) is expected, and nothing else removed.
func ParseResponse(status int, h http1.Fields, requestTime, responseTime Moment, o *Options) Response {
	r := Response{Status: status, RequestTime: requestTime, ResponseTime: responseTime, Date: responseTime.Unix()}
	c := control{sharedAge: none, maxAge: none, swr: none, sie: none}
	e := expires{}
	r.Vary = append(r.Vary, o.Keyed...)
	r.scan(h, &c, &e)
	if t, ok := targeted(h, o.Targets); ok {
		c, e = t, expires{}
	}
	r.Directives, r.Hidden = c.flags, c.hidden
	r.setLifetime(&c, &e, o)
	r.setStaleWindows(&c, o)
	if status == 206 {
		r.Part = parsePart(h)
	}
	return r
}

// expires is what the Expires lines say.
type expires struct {
	lines int
	value []byte
}

// at is the time that the field names, which counts only if it is one and alone.
func (e *expires) at(now int64) (int64, bool) {
	if e.lines != 1 {
		return 0, false
	}
	return ParseDate(e.value, now)
}

// scan reads every field that says something to a cache, in one pass.
func (r *Response) scan(h http1.Fields, c *control, e *expires) {
	age, aged, dated, tagged := int64(0), false, false, false
	for i := range h {
		switch name, value := h[i].Name, h[i].Value; len(name) {
		case len("age"):
			if ascii.EqualFold(name, "age") && !aged {
				aged = true
				age = ageValue(value)
			}
		case len("date"): // etag, vary
			switch {
			case ascii.EqualFold(name, "date") && !dated:
				dated = true
				if t, ok := ParseDate(value, r.ResponseTime.Unix()); ok {
					r.Date = t
				}
			case ascii.EqualFold(name, "etag") && !tagged:
				tagged = true
				r.ETag = ParseETag(value)
			case ascii.EqualFold(name, "vary"):
				r.vary(value)
			}
		case len("expires"):
			if ascii.EqualFold(name, "expires") {
				e.lines++
				e.value = value
			}
		case len("set-cookie"):
			r.SetCookie = r.SetCookie || ascii.EqualFold(name, "set-cookie")
		case len("cache-control"): // and last-modified
			if ascii.EqualFold(name, "cache-control") {
				c.line(value)
			} else if ascii.EqualFold(name, "last-modified") && r.LastModified == nil {
				r.LastModified = value
				r.modified, r.hasModified = ParseDate(value, r.ResponseTime.Unix())
			}
		case len("content-language"):
			if ascii.EqualFold(name, "content-language") {
				r.language(value)
			}
		}
	}
	slices.Sort(r.Vary)
	r.Vary = slices.Compact(r.Vary)
	r.created = r.creationTime(age)
}

// ageValue reads the first member of an Age line; a malformed one is no age.
func ageValue(value []byte) int64 {
	first := value
	if i := bytes.IndexByte(value, ','); i >= 0 {
		first = value[:i]
	}
	n, _ := seconds(ascii.Trim(first), false)
	return n
}

// vary takes in one line of Vary.
func (r *Response) vary(value []byte) {
	for len(value) > 0 {
		var name []byte
		switch name, value = cutMember(value); {
		case len(name) == 0:
		case string(name) == "*":
			r.VaryAll = true
		default:
			r.Vary = append(r.Vary, toLower(name))
		}
	}
}

// language takes in one line of Content-Language. A second language, on this
// line or another, leaves none that could stand for the response.
func (r *Response) language(value []byte) {
	for len(value) > 0 {
		var tag []byte
		switch tag, value = cutMember(value); {
		case len(tag) == 0:
		case r.Language == nil:
			r.Language = tag
		default:
			r.Language = []byte{}
		}
	}
}

// control is one policy: what the directives of Cache-Control, or of a targeted
// field, say.
type control struct {
	flags             Directives
	sharedAge, maxAge int64
	swr, sie          int64
	hidden            []string
}

// line takes in one line of Cache-Control.
func (c *control) line(value []byte) {
	for len(value) > 0 {
		var member []byte
		member, value = cutMember(value)
		if d, ok := parseDirective(member); ok {
			c.directive(&d)
		} else {
			c.malformed(d.name)
		}
		c.unclosed(member)
	}
}

// unclosed takes in what follows a quote in a member that nothing closes: it may be
// that only one is too many, and what restricts behind the next comma is meant.
func (c *control) unclosed(member []byte) {
	_, rest, _ := bytes.Cut(openQuote(member), []byte{','})
	for len(rest) > 0 {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{','})
		d, _ := parseDirective(ascii.Trim(one))
		c.malformed(d.name)
	}
}

// malformed takes in a member that is no directive, such as "private; max-age=60".
// Who wrote it meant what it begins with: where that restricts, it counts.
func (c *control) malformed(name []byte) {
	c.flags |= flagOf(name) & (NoStore | NoCache | Private)
}

// directive takes in one directive. Of several with a lifetime the first
// counts, and a malformed lifetime is none: the response is stale at once.
func (c *control) directive(d *directive) {
	switch n, ok := d.seconds(); {
	case ascii.EqualFold(d.name, "max-age"):
		first(&c.maxAge, n, true)
	case ascii.EqualFold(d.name, "s-maxage"):
		first(&c.sharedAge, n, true)
	case ascii.EqualFold(d.name, "stale-while-revalidate"):
		first(&c.swr, n, ok)
	case ascii.EqualFold(d.name, "stale-if-error"):
		first(&c.sie, n, ok)
	case d.kind == unusable:
		c.malformed(d.name)
	default:
		c.flag(flagOf(d.name), d.names())
	}
}

func first(to *int64, n int64, ok bool) {
	if *to == none && ok {
		*to = n
	}
}

// flag takes in a directive without a number. Names of fields qualify no-cache
// and private only; an argument without a usable name restricts everything.
func (c *control) flag(bit Directives, names []string) {
	if bit.Has(NoCache|Private) && len(names) > 0 {
		c.hidden = append(c.hidden, names...)
		return
	}
	c.flags |= bit
}
