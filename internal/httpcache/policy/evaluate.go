package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Span is a range of bytes of a body.
type Span struct{ Start, Length int64 }

// Outcome describes the answer made from a stored response.
type Outcome struct {
	// Status is the stored status (usually 200), or 304, 206 or 416.
	Status int
	// Spans are the ranges to send with a 206, in order; several ranges become the parts of
	// multipart/byteranges.
	Spans []Span
}

// Evaluate evaluates the request's conditions and ranges against a stored response that may
// be used (RFC 9110, sections 13 and 14). length is that of the whole body, or -1 while it
// is unknown; ranges are then ignored. For a stored 206 the whole is that of its Part, to
// which the Spans refer. Spans are appended to dst.
func Evaluate(dst []Span, q *Request, r *Response, length int64, now Moment, o *Options) Outcome {
	out := Outcome{Status: r.Status}
	if r.Status != 200 && r.Status != 206 {
		return out
	}
	if NotModified(q, r, now, o) {
		out.Status = 304
		return out
	}
	if !q.Traits.Has(HasRange) || q.Method != GET || length <= 0 || !ifRangeMatches(q, r, now) {
		return out
	}
	switch spans, ok := appendSpans(dst, q.Range, length, maxRanges); {
	case !ok:
	case len(spans) == len(dst):
		out.Status = 416
	default:
		out.Status, out.Spans = 206, spans[len(dst):]
	}
	return out
}

// maxRanges is the maximum number of ranges served for a request; with more, the whole body
// is sent.
const maxRanges = 16

// NotModified reports whether the request's conditions make the answer a 304 (RFC 9110,
// section 13.2.2; RFC 9111, section 4.3.2). If-None-Match takes precedence over
// If-Modified-Since, and a malformed date is ignored.
func NotModified(q *Request, r *Response, now Moment, o *Options) bool {
	if q.Traits.Has(HasIfNoneMatch) {
		return r.noneMatch(q)
	}
	if len(q.IfModifiedSince) == 0 {
		return false
	}
	since, ok := ParseDate(q.IfModifiedSince, now.Unix())
	switch {
	case !ok:
		return false
	case r.hasModified:
		return r.modified <= since
	}
	return r.Date <= since || o.DatelessIfModified
}

// noneMatch reports whether a line of If-None-Match matches.
func (r *Response) noneMatch(q *Request) bool {
	for i := range q.Fields {
		f := &q.Fields[i]
		if ascii.EqualFold(f.Name, "if-none-match") && (string(f.Value) == "*" || r.ETag.listed(f.Value)) {
			return true
		}
	}
	return false
}

// ifRangeMatches reports whether If-Range is absent or matches: its tag must match strongly,
// or its date must equal Last-Modified, which is a strong validator only if it is at least a
// second older than Date (RFC 9110, section 13.1.5).
func ifRangeMatches(q *Request, r *Response, now Moment) bool {
	if !q.Traits.Has(HasIfRange) {
		return true
	}
	if tag := ParseETag(q.IfRange); tag.Kind != OpaqueTag {
		return tag.strongEqual(r.ETag)
	}
	t, ok := ParseDate(q.IfRange, now.Unix())
	return ok && r.hasModified && t == r.modified && r.modified < r.Date && bytes.Equal(q.IfRange, r.LastModified)
}
