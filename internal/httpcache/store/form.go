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
	// Lines are the fields that a hit is sent with, but for Content-Encoding, which
	// only goes with the body. The entity tag is a weak one: the bytes are others.
	Lines []byte
	Body  *Body

	Packed *jsonp.Packed // the same for calls; nil: there is none
	filter *jsonp.Filter // that packed was made for
}

const (
	// minEncoded and maxEncoded bound the bodies that are encoded, in bytes. Below,
	// one packet carries them anyway; above, encoding would keep others waiting.
	minEncoded = 1 << 10
	maxEncoded = 8 << 20
)

var varyEncoding = []byte("Vary: Accept-Encoding\r\n")

// Offer lets what is stored under this head be offered in content codings too, if it
// is fit for that: text without a coding, that nothing forbids to transform.
// length is the body's, -1 if it is not known. It is called before anybody else has
// the head.
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

// EncodedVariant returns the coded form that goes to q, nil if the plain one does. Ranges
// are of the plain one: whoever asks for one must not be given a form.
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

// encoded are those of one object, in the order in which they are preferred. accept has
// their names, for the comparison with what a client takes.
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

// withHead are the same bodies under another head.
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

// encodedLines are the lines of a hit in a coding.
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

// PackedFor is the form whose body is in one piece for every call of f's; nil if there is none.
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
