package policy

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Source is the source of a response's lifetime.
type Source uint8

// The sources, in order of precedence.
const (
	Unknown      Source = iota // nothing: it is never fresh
	FromShared                 // s-maxage
	FromMaxAge                 // max-age
	FromExpires                // Expires
	FromModified               // guessed from Last-Modified
	FromOptions                // Options.DefaultTTL
)

// Response is a final response as far as caching depends on it. It is immutable once parsed.
// Its slices alias the parsed fields, whose memory must not change.
type Response struct {
	Status int
	// Directives, and the values below derived from them, are taken from the policy that
	// applies: a targeted field's, or Cache-Control's.
	Directives Directives
	Source     Source
	// RequestTime is the time when the request was sent, ResponseTime the time when the head
	// of the response had arrived.
	RequestTime, ResponseTime Moment
	// Date is the Date field in Unix seconds, or the second of ResponseTime if it is missing
	// or malformed.
	Date int64
	// Lifetime is the freshness in seconds, counted from its creation. It is negative if
	// Expires is before Date.
	Lifetime int64
	// ETag and LastModified are its validators, as received.
	ETag         ETag
	LastModified []byte
	// Vary are the names of the fields that selected this response, including Options.Keyed:
	// in lower case, sorted, without duplicates. VaryAll is set by "*": the response then
	// answers no other request.
	Vary    []string
	VaryAll bool
	// Hidden are the fields, in lower case, that are not sent with hits: they are named in
	// no-cache and private.
	Hidden []string
	// Language is Content-Language if there is exactly one.
	Language []byte
	// Part is the range of a 206.
	Part Part
	// SetCookie reports whether the response has a Set-Cookie field.
	SetCookie bool

	created         Moment // the time when its age was 0
	modified        int64  // Last-Modified as a time
	hasModified     bool   // Last-Modified is a valid date
	whileRevalidate staleWindow
	ifError         staleWindow
}

// staleWindow is how long a response may be used for one reason after its lifetime.
type staleWindow struct {
	seconds int64
	own     bool // the response has the directive; otherwise the window is an option's
}

// Explicit reports whether the response has explicit freshness, even a malformed one.
func (r *Response) Explicit() bool { return r.Source >= FromShared && r.Source <= FromExpires }

// ParseResponse parses a final response's status and fields. The times are when its request
// was sent and when its head had arrived. h must be without connection-specific fields
// ([EndToEnd]) and otherwise complete.
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

// expires holds the Expires lines.
type expires struct {
	lines int
	value []byte
}

// at returns the time of the field; ok is false if it is malformed or repeated.
func (e *expires) at(now int64) (int64, bool) {
	if e.lines != 1 {
		return 0, false
	}
	return ParseDate(e.value, now)
}

// scan reads every caching-related field, in one pass.
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

// ageValue parses the first member of an Age line; a malformed one counts as 0.
func ageValue(value []byte) int64 {
	first := value
	if i := bytes.IndexByte(value, ','); i >= 0 {
		first = value[:i]
	}
	n, _ := seconds(ascii.Trim(first), false)
	return n
}

// vary parses a line of Vary.
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

// language parses a line of Content-Language. With a second language, on any line, Language
// is unset.
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

// control is one policy: the directives of Cache-Control or of a targeted field.
type control struct {
	flags             Directives
	sharedAge, maxAge int64
	swr, sie          int64
	hidden            []string
}

// line parses a line of Cache-Control.
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

// unclosed handles the text after an unclosed quote in a member: the quote may be a mistake,
// so restrictive directives after the next comma are applied.
func (c *control) unclosed(member []byte) {
	_, rest, _ := bytes.Cut(openQuote(member), []byte{','})
	for len(rest) > 0 {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{','})
		d, _ := parseDirective(ascii.Trim(one))
		c.malformed(d.name)
	}
}

// malformed handles a member that is no directive, such as "private; max-age=60": if it
// begins with a restrictive directive, that is applied.
func (c *control) malformed(name []byte) {
	c.flags |= flagOf(name) & (NoStore | NoCache | Private)
}

// directive applies a directive. Of several with a lifetime the first counts, and a
// malformed lifetime counts as 0: the response is stale at once.
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

// flag applies a directive without a number. Names of fields qualify only no-cache and
// private; an argument without a usable name restricts the whole response.
func (c *control) flag(bit Directives, names []string) {
	if bit.Has(NoCache|Private) && len(names) > 0 {
		c.hidden = append(c.hidden, names...)
		return
	}
	c.flags |= bit
}
