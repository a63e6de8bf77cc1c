package store

import (
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/coding"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
)

// EncodedVariant is a stored response in a content coding. It is immutable.
type EncodedVariant struct {
	Coding string
	// Lines are the fields of a hit, except Content-Encoding, which is sent only with the
	// body. The entity tag is weak, because the bytes differ.
	Lines []byte
	Body  *Body

	Packed *jsonp.Packed // the same wrapped for callbacks; nil: there is none
	filter *jsonp.Filter // the filter that Packed was made for
}

const (
	// minEncoded and maxEncoded bound the bodies that are encoded, in bytes. Below, one
	// packet carries them anyway; above, encoding would delay the other objects in the
	// queue.
	minEncoded = 1 << 10
	maxEncoded = 8 << 20
)

var varyEncoding = []byte("Vary: Accept-Encoding\r\n")

// Offer lets the response be encoded if it is suitable: text without a content coding that
// no field forbids to transform. length is the body's, -1 if it is not known. It must be
// called before h is shared.
func (h *Head) Offer(length int64) {
	if !h.encodable() || length >= 0 && (length < minEncoded || length > maxEncoded) {
		return
	}
	h.offered = true
	for _, name := range h.Response.Vary {
		if name == "accept-encoding" {
			return
		}
	}
	h.Added = varyEncoding
	h.Lines = append(h.Lines[:len(h.Lines):len(h.Lines)], varyEncoding...)
}

func (h *Head) encodable() bool {
	if h.Response.Status != 200 || h.Response.Directives.Has(policy.NoTransform) || !coding.Fits(h.Fields.Get("Content-Type")) {
		return false
	}
	for _, f := range h.Fields {
		for _, name := range [...]string{"content-encoding", "content-md5", "digest", "content-digest", "repr-digest", "signature"} {
			if ascii.EqualFold(f.Name, name) {
				return false
			}
		}
	}
	return true
}

// EncodedFor returns the variant for q, nil for the plain one. It must not be used for a
// range request: ranges are of the plain body.
func (o *Object) EncodedFor(q *Query) *EncodedVariant {
	forms := o.encoded.Load()
	if forms == nil {
		return nil
	}
	accepted := policy.AppendEncodings(q.scratch[:0], q.Fields, &forms.accept)
	q.scratch = accepted
	for i := range forms.list {
		f := &forms.list[i]
		if n := len(f.Coding); len(accepted) >= n && string(accepted[:n]) == f.Coding {
			return f
		}
	}
	return nil
}

// encodedVariants are the variants of one object in the order of preference. accept has
// their names, to be compared with the codings that a client accepts.
type encodedVariants struct {
	list   []EncodedVariant
	accept policy.Options
}

func newEncodedVariants(list []EncodedVariant) *encodedVariants {
	f := &encodedVariants{list: list}
	for i := range list {
		f.accept.Encodings = append(f.accept.Encodings, list[i].Coding)
	}
	return f
}

// withHead returns the same bodies with the lines of another head.
func (f *encodedVariants) withHead(h *Head) *encodedVariants {
	if f == nil || !h.offered {
		return nil
	}
	list := make([]EncodedVariant, len(f.list))
	for i := range f.list {
		list[i] = f.list[i]
		list[i].Lines = h.encodedLines()
	}
	return newEncodedVariants(list)
}

// encodedLines returns the lines of a hit in a content coding.
func (h *Head) encodedLines() []byte {
	fields := make(http1.Fields, 0, len(h.visible))
	for _, f := range h.visible {
		switch {
		case ascii.EqualFold(f.Name, "accept-ranges"):
			continue
		case ascii.EqualFold(f.Name, "etag") && len(f.Value) > 0 && f.Value[0] == '"':
			f.Value = append([]byte("W/"), f.Value...)
		}
		fields = append(fields, f)
	}
	return append(lines(fields), h.Added...)
}

func (f *encodedVariants) weight() int64 {
	if f == nil {
		return 0
	}
	w := int64(0)
	for i := range f.list {
		w += f.list[i].Body.weight() + int64(cap(f.list[i].Lines)) + encodedOverhead
		if k := f.list[i].Packed; k != nil {
			w += k.Weight() + packedOverhead
		}
	}
	return w
}

const encodedOverhead, packedOverhead = 96, 112

// PackedFor returns the variant that is wrapped for callbacks of f, nil if there is none.
func (o *Object) PackedFor(f *jsonp.Filter) *EncodedVariant {
	forms := o.encoded.Load()
	if forms == nil {
		return nil
	}
	for i := range forms.list {
		if form := &forms.list[i]; form.Packed != nil && form.filter.Alike(f) {
			return form
		}
	}
	return nil
}
