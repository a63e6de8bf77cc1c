package policy

import (
	"bytes"
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
)

// appendSpans parses a Range field (RFC 9110, section 14.1.2) for a body of that length and
// appends the requested ranges in ascending order, merging ranges that overlap or touch. It
// appends nothing if no range lies within the body. ok is false if the field must be
// ignored: it is malformed, has another unit, or more than maxRanges ranges.
func appendSpans(dst []Span, value []byte, length int64, limit int) (spans []Span, ok bool) {
	unit, list, found := bytes.Cut(value, []byte{'='})
	if !found || !ascii.EqualFold(unit, "bytes") {
		return dst, false
	}
	spans = dst
	count := 0
	for len(list) > 0 {
		var one []byte
		if one, list = cutMember(list); len(one) == 0 {
			continue
		}
		s, ok := parseSpan(one, length)
		if count++; !ok || count > limit {
			return dst, false
		}
		if s.Length > 0 {
			spans = append(spans, s)
		}
	}
	n := len(dst)
	return append(spans[:n], merge(spans[n:])...), count > 0
}

// parseSpan parses "a-b", "a-" or "-n". A range after the end of the body has the length 0.
func parseSpan(b []byte, length int64) (Span, bool) {
	from, to, found := bytes.Cut(b, []byte{'-'})
	first, hasFirst := seconds(from, false)
	last, hasLast := seconds(to, false)
	switch {
	case !found, len(from) > 0 != hasFirst, len(to) > 0 != hasLast, !hasFirst && !hasLast:
		return Span{}, false
	case !hasFirst:
		n := min(last, length)
		return Span{length - n, n}, true
	case !hasLast:
		last = length - 1
	case first > last:
		return Span{}, false
	}
	return Span{first, max(0, min(last, length-1)-first+1)}, true
}

// merge sorts spans and joins overlapping and adjacent ones, in place.
func merge(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return int(max(-1, min(1, a.Start-b.Start))) })
	n := 0
	for _, s := range spans {
		if n > 0 && s.Start <= spans[n-1].Start+spans[n-1].Length {
			last := &spans[n-1]
			last.Length = max(last.Length, s.Start+s.Length-last.Start)
			continue
		}
		spans[n] = s
		n++
	}
	return spans[:n]
}

// Covers reports whether a stored part has everything that the request's Range selects, so
// that a 206 can be served from it. It is false without Range, and if If-Range could select
// the whole.
func Covers(q *Request, r *Response) bool {
	if !q.Traits.Has(HasRange) || q.Method != GET || q.Traits.Has(HasIfRange) && !ParseETag(q.IfRange).strongEqual(r.ETag) {
		return false
	}
	var memory [1]Span
	spans, ok := appendSpans(memory[:0], q.Range, r.Part.Total, 1)
	if !ok || len(spans) != 1 {
		return false
	}
	s := spans[0]
	return s.Start >= r.Part.First && s.Start+s.Length-1 <= r.Part.Last
}
