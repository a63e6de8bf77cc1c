package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Span is a run of bytes of a body: Length of them from Start on.
type Span struct{ Start, Length int64 }

// Outcome is how a stored response answers a request.
type Outcome struct {
	// Status is 200 or whatever else is stored, or 304, 206 or 416.
	Status int
	// Spans are the bytes to send with a 206, of the whole and in order; of
	// several each becomes a part of multipart/byteranges.
	Spans []Span
}

// Evaluate says how a stored response that may be used answers the request's
// conditions and ranges (RFC 9110, sections 13 and 14). length is that of the
// whole body, or -1 while it is not known; without bytes that are known, ranges are
// not looked at. Of a stored 206 the whole is what its Part is a part of, and
// Spans count from there as well. Spans are appended to dst.
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

// maxRanges is how many ranges of one request are answered; with more, the whole is.
const maxRanges = 16

// NotModified says whether the request's own conditions make the answer a 304
// (RFC 9110, section 13.2.2; RFC 9111, section 4.3.2). If-None-Match goes before
// If-Modified-Since, and a malformed date is as if it were not there.
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

// noneMatch looks through all lines of If-None-Match.
func (r *Response) noneMatch(q *Request) bool {
	for i := range q.Fields {
		f := &q.Fields[i]
		if ascii.EqualFold(f.Name, "if-none-match") && (string(f.Value) == "*" || r.ETag.listed(f.Value)) {
			return true
		}
	}
	return false
}

// ifRangeMatches says whether If-Range, if there is one, lets Range count: its tag
// must match strongly, or its date be Last-Modified, which must be at least a
// second older than Date to be a strong validator (RFC 9110, section 13.1.5).
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
