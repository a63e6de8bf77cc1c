package httpcache

import (
	"errors"
	"io"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/flight"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/httpcache/store"
	"github.com/kasoku/kasoku/internal/origin"
)

// errOtherPart means that the origin's answer is not the rest of the stored part.
var errOtherPart = errors.New("httpcache: the origin has sent another part than was asked for")

// completablePart returns a stored part from which a request for the whole may be completed,
// nil if there is none.
func (c *call) completablePart() (part *store.Object) {
	if c.req.Method != policy.GET || c.req.Traits.Has(policy.HasRange) {
		return nil
	}
	c.svc.store.Parts(&c.query, func(o *store.Object) bool {
		if _, ok := policy.Completion(nil, nil, &o.Head.Response, c.opt); ok && o.Mark() == policy.Unmarked {
			part = o
		}
		return part == nil
	})
	return part
}

// completion returns the fields of a request for the rest of the part, if that is still
// valid. It is called after the flight has noted its fence, so that later invalidations
// affect the flight.
func (f *originFetch) completion() (http1.Fields, bool) {
	if f.part == nil || !f.svc.store.Valid(f.key, f.part) {
		return nil, false
	}
	return policy.Completion(nil, f.header, &f.part.Head.Response, f.opt)
}

// complete makes a whole response of the stored part and the rest in the origin's answer. A
// whole that cannot be shared is not made.
func (f *originFetch) complete(in *origin.Inbound, fields http1.Fields, asked policy.Moment) (*flight.Answer, error) {
	o, part, now := f.opt, &f.part.Head.Response, clock()
	rest := policy.ParseResponse(in.Status, fields, asked, now, o)
	whole := policy.CompleteFields(nil, f.part.Head.Hit, fields)
	r := policy.ParseResponse(200, whole, asked, now, o)
	storable, _ := policy.Storable(&f.req, &r, o)
	if !storable || !policy.Completes(&rest, part, o) || in.Length != rest.Part.Length() {
		in.Close()
		return nil, errOtherPart
	}
	a := f.answer(&origin.Inbound{Status: 200, Length: part.Part.Total}, whole, asked)
	a.Head.InheritTags(f.part.Head)
	m := f.part.Body.Hold()
	a.Body = &partAndRest{io.MultiReader(m.Reader(), in), in, m}
	return a, nil
}

// partAndRest reads a stored part and then its rest from the origin.
type partAndRest struct {
	io.Reader
	io.Closer
	part *store.Memory // held until Close; may be nil
}

func (p *partAndRest) Close() error {
	p.part.Return()
	p.part = nil
	return p.Closer.Close()
}
