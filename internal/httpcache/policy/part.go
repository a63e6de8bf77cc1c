package policy

import (
	"bytes"
	"strconv"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// Part is the range of bytes in a 206: First to Last, inclusive, of Total. The zero value is
// unknown.
type Part struct{ First, Last, Total int64 }

// Known reports whether the part and the length of the whole are known.
func (p Part) Known() bool { return p.Total > 0 }

// Length returns the number of bytes in the part.
func (p Part) Length() int64 { return p.Last - p.First + 1 }

// Fit compares the part with the length of the body and reports whether they agree;
// otherwise the response may not be stored. With LooseParts it returns a part with the
// body's length, and the whole then ends at its previous end or with the body.
func (p Part) Fit(body int64, o *Options) (Part, bool) {
	switch {
	case !p.Known() || body <= 0:
		return Part{}, false
	case body == p.Length():
		return p, true
	case !o.LooseParts || body > p.Length():
		return Part{}, false
	}
	last := p.First + body - 1
	if p.Last == p.Total-1 {
		p.Total = last + 1
	}
	p.Last = last
	return p, true
}

// parsePart parses the Content-Range of a 206 in a single part (RFC 9110, section 14.4).
// Several parts, other units, and a whole of unknown length are of no use to a cache.
func parsePart(h http1.Fields) Part {
	var value []byte
	for i := range h {
		switch {
		case !ascii.EqualFold(h[i].Name, "content-range"):
		case value != nil:
			return Part{}
		default:
			value = h[i].Value
		}
	}
	if len(value) < 6 || !ascii.EqualFold(value[:6], "bytes ") {
		return Part{}
	}
	first, rest, _ := bytes.Cut(value[6:], []byte{'-'})
	last, total, _ := bytes.Cut(rest, []byte{'/'})
	p, ok1 := seconds(first, false)
	q, ok2 := seconds(last, false)
	t, ok3 := seconds(total, false)
	if !ok1 || !ok2 || !ok3 || p > q || q >= t || t >= maxDelta {
		return Part{}
	}
	return Part{p, q, t}
}

// Completion appends to dst the fields of a request for the missing rest of a stored part.
// It returns false unless the rest can be verified to belong to the part: the part must be
// the beginning of a response with a strong tag, which is sent in If-Range (RFC 9111,
// section 3.4). With LooseParts it needs no tag. client are the fields of a request for the
// whole.
func Completion(dst, client http1.Fields, r *Response, o *Options) (http1.Fields, bool) {
	strong := r.ETag.Kind == StrongTag
	if r.Status != 206 || r.Part.First != 0 || r.Part.Last >= r.Part.Total-1 || !strong && !(o.LooseParts && r.ETag.Kind == NoTag) {
		return dst, false
	}
	dst = Unconditional(dst, client)
	from := strconv.AppendInt([]byte("bytes="), r.Part.Last+1, 10)
	dst = append(dst, http1.Field{Name: []byte("Range"), Value: append(from, '-')})
	if strong {
		dst = append(dst, http1.Field{Name: []byte("If-Range"), Value: r.ETag.Value})
	}
	return dst, true
}

// Completes reports whether an answer to Completion is the missing rest of the stored part,
// of the same whole and with the same tag.
func Completes(rest, r *Response, o *Options) bool {
	if rest.Status != 206 || rest.Part != (Part{r.Part.Last + 1, r.Part.Total - 1, r.Part.Total}) {
		return false
	}
	return rest.ETag.strongEqual(r.ETag) || o.LooseParts && rest.ETag.Kind == NoTag && r.ETag.Kind == NoTag
}

// CompleteFields appends the fields of the whole, a 200, made of a stored part and the
// answer that completes it, whose fields replace the part's.
func CompleteFields(dst, part, rest http1.Fields) http1.Fields {
	whole := UpdateFields(nil, part, rest)
	for i := range whole {
		if f := whole[i]; !ascii.EqualFold(f.Name, "content-range") && !ascii.EqualFold(f.Name, "content-length") {
			dst = append(dst, f)
		}
	}
	return dst
}
