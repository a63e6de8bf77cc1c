package httpcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"io"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// maxEarly is the length up to which a body is held until it is whole, so that its validator
// can be sent before it.
const maxEarly = 256 << 10

// admit judges a new response by the plan's Fill. If the origin gave no validator, it makes
// one of the body: before the answer is sent if the body is short, else at its end.
func (f *originFetch) admit(fl *flight.Flight, in *origin.Inbound, fields http1.Fields, asked policy.Moment) (*flight.Answer, error) {
	adm := f.fill.Admit(in.Status, fields)
	f.own = adm.ClientFields
	storable := f.judge(fl, in, &adm, asked)
	a := &flight.Answer{Head: f.head(in.Status, adm.Fields, asked), Length: in.Length, Body: in, Share: storable, Keep: storable && f.why == policy.Stored}
	f.setStored(f.why)
	if !storable {
		f.dropReplaced(in.Status)
		return a, nil
	}
	if in.Status == 200 && a.Head.Response.ETag.Kind == policy.NoTag {
		return f.synthesizeValidator(a, in, asked)
	}
	f.set.offerEncoded(a.Head, in.Length, true)
	a.Seal = func(a *flight.Answer, b *store.Body) *flight.Answer { return f.seal(a, b, nil) }
	return a, nil
}

// judge reports whether a response may be shared, and sets the reason why it is stored or
// not.
func (f *originFetch) judge(fl *flight.Flight, in *origin.Inbound, adm *Admission, asked policy.Moment) bool {
	r := policy.ParseResponse(in.Status, adm.Fields, asked, clock(), f.opt)
	var ok bool
	if ok, f.why = policy.Storable(&f.req, &r, f.opt); !ok {
		return false
	}
	switch {
	case !adm.Store:
		f.why = policy.Unsound
		return false
	case !fl.Stamp().Settled:
		f.why = policy.Unsettled
		return false
	case !f.keep:
		f.why = policy.Unsettled
		return !f.fill.StarterOnly
	case in.Length > f.svc.store.Limits().MaxObject:
		f.why = policy.TooLarge
	}
	return true
}

func (f *originFetch) head(status int, fields http1.Fields, asked policy.Moment) *store.Head {
	r := policy.ParseResponse(status, fields, asked, clock(), f.opt)
	return store.NewHead(r, fields, f.client, f.opt)
}

// synthesizeValidator gives a an entity tag made of its body.
func (f *originFetch) synthesizeValidator(a *flight.Answer, in *origin.Inbound, asked policy.Moment) (*flight.Answer, error) {
	seal := func(a *flight.Answer, b *store.Body) *flight.Answer {
		fields := append(a.Head.Fields[:len(a.Head.Fields):len(a.Head.Fields)], http1.Field{Name: []byte("ETag"), Value: entityTag(b)})
		h := f.head(a.Head.Response.Status, fields, asked)
		h.Synthesized = true
		f.set.offerEncoded(h, b.Len(), true)
		return f.seal(a, b, h)
	}
	early, err := io.ReadAll(io.LimitReader(in, maxEarly+1))
	switch {
	case err != nil:
		in.Close()
		return nil, err
	case len(early) > maxEarly:
		a.Body, a.Seal = &partAndRest{io.MultiReader(bytes.NewReader(early), in), in, nil}, seal
		return a, nil
	}
	in.Close()
	a.Whole = store.Gather([][]byte{early})
	a.Length = a.Whole.Len()
	return seal(a, a.Whole), nil
}

// seal returns a for a whole body. h is the head with a synthesized validator, nil if the
// origin sent one. If the stored body is equal, it is kept, with its encoded variants.
func (f *originFetch) seal(a *flight.Answer, b *store.Body, h *store.Head) *flight.Answer {
	s := *a
	if f.fill.CheckBody != nil && !f.fill.CheckBody(b) {
		s.Keep = false
		return &s
	}
	if h == nil {
		return &s
	}
	s.Head = h
	if old := f.seen; old != nil && old.Head.Synthesized && old.Body.Len() == b.Len() && sameHeads(old.Head, h) {
		s.Validated = old
	}
	return &s
}

// sameHeads reports whether two heads are equal, for equal bodies.
func sameHeads(h, g *store.Head) bool {
	return h.Response.Status == g.Response.Status && bytes.Equal(h.Response.ETag.Value, g.Response.ETag.Value) &&
		bytes.Equal(h.Fields.Get("Content-Type"), g.Fields.Get("Content-Type"))
}

// entityTag returns a strong entity tag of a body.
func entityTag(b *store.Body) []byte {
	sum := sha256.New()
	_ = b.WriteRange(sum, 0, b.Len()) // a hash does not fail
	dst := append([]byte{}, `"k-`...)
	dst = base64.RawURLEncoding.AppendEncode(dst, sum.Sum(nil)[:16])
	return append(dst, '"')
}
