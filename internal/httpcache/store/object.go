package store

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// Head is a stored response without its body. It is immutable once it is in an object or
// shared.
type Head struct {
	// Response is the meaning of the fields for a cache.
	Response policy.Response
	// Fields are the end-to-end fields in their order, in memory of their own.
	Fields http1.Fields
	// Lines are the fields that a hit is sent with (policy.HitFields), rendered for
	// Reply.Lines.
	Lines []byte
	// Tags are its surrogate tags.
	Tags Tags

	// Added are the lines that are sent besides Fields. They are in Lines.
	Added []byte

	ownTags     *Tags        // Tags without inherited ones; nil: none are inherited
	varyValues  []byte       // the request's values of the fields named by Vary
	Hit         http1.Fields // the fields of a hit, which a 304 updates
	visible     http1.Fields // the fields rendered in Lines: Hit without fields hidden from clients
	offered     bool         // it is offered in content codings
	Synthesized bool         // the validator was made by the cache: the origin cannot compare it
	setsCookie  bool         // Lines contains Set-Cookie
}

// NewHead returns a head. fields are the response's end-to-end fields in memory of their
// own, including Date; response was parsed from them. request are the fields of the request.
func NewHead(response policy.Response, fields, request http1.Fields, o *policy.Options) *Head {
	h := &Head{Response: response, Fields: fields, Tags: ParseTags(fields)}
	h.varyValues = policy.AppendVaryValues(nil, response.Vary, request, o)
	h.Hit = policy.HitFields(nil, fields, &h.Response, o)
	h.render(o)
	return h
}

// render makes Lines of Hit.
func (h *Head) render(o *policy.Options) {
	h.visible = h.Hit
	if len(o.Strip) > 0 {
		h.visible = slices.DeleteFunc(slices.Clone(h.Hit), func(f http1.Field) bool { return o.Strips(f.Name) })
	}
	h.setsCookie = h.Response.SetCookie && h.visible.Get("Set-Cookie") != nil
	h.Lines = lines(h.visible)
}

// usableWith reports whether a stored response may be used with options that may differ from
// those that it was stored with: their rule for Set-Cookie counts.
func (h *Head) usableWith(o *policy.Options) bool {
	switch o.SetCookie {
	case policy.RefuseCookies:
		return !h.Response.SetCookie
	case policy.StripCookies:
		return !h.setsCookie
	}
	return true
}

// lines renders fields as they are.
func lines(fields http1.Fields) []byte {
	size := 0
	for _, f := range fields {
		size += len(f.Name) + len(f.Value) + len(": \r\n")
	}
	b := make([]byte, 0, size)
	for _, f := range fields {
		b = append(append(b, f.Name...), ": "...)
		b = append(append(b, f.Value...), "\r\n"...)
	}
	return b
}

// weight returns roughly the heap memory of the head.
func (h *Head) weight() int64 {
	w := int64(unsafe.Sizeof(*h)) + int64(cap(h.Lines)+cap(h.varyValues)) + 4*int64(len(h.Tags.slots))
	w += int64(cap(h.Fields)+cap(h.Hit)+cap(h.visible)) * int64(unsafe.Sizeof(http1.Field{}))
	w += namesWeight(h.Response.Vary) + namesWeight(h.Response.Hidden)
	for _, f := range h.Fields {
		w += int64(len(f.Name) + len(f.Value))
	}
	return w
}

// Object is one stored response. Its head and body are immutable; a new head for
// the same body is a new object.
type Object struct {
	Head *Head
	Body *Body

	stamp     cache.Stamp   // of its fence
	purgeSeen atomic.Uint64 // the number of the newest purge that it was compared with
	marked    atomic.Uint32 // a policy.Mark, which only grows
	encoded   atomic.Pointer[encodedVariants]
	retry     atomic.Int64 // the policy.Moment before which it is not refreshed in the background
}

func NewObject(h *Head, b *Body, at Fence) *Object {
	o := &Object{Head: h, Body: b, stamp: at.Stamp}
	o.purgeSeen.Store(at.purge)
	return o
}

// fence returns the fence that o was made with, except that purges up to purgeSeen are
// already applied.
func (o *Object) fence() Fence { return Fence{Stamp: o.stamp, purge: o.purgeSeen.Load()} }

// In returns a copy of o whose body is in m and does not move: it does not follow the stored
// body to pages.
func (o *Object) In(m *Memory) *Object {
	b := &Body{length: o.Body.length}
	b.mem.Store(m)
	b.stage.Store(fixed)
	return NewObject(o.Head, b, o.fence())
}

// CopyEncoded gives o the encoded variants of another object with the same body.
func (o *Object) CopyEncoded(from *Object) { o.encoded.Store(from.encoded.Load().withHead(o.Head)) }

// Mark returns the strongest mark that was set since o was stored.
func (o *Object) Mark() policy.Mark { return policy.Mark(o.marked.Load()) }

// SetMark marks o, unless it has a stronger mark.
func (o *Object) SetMark(m policy.Mark) {
	for {
		old := o.marked.Load()
		if old >= uint32(m) || o.marked.CompareAndSwap(old, uint32(m)) {
			return
		}
	}
}

// RefreshFailed prevents refreshes of o in the background until then.
func (o *Object) RefreshFailed(until policy.Moment) { o.retry.Store(int64(until)) }

// MayRefresh reports whether o may be refreshed in the background.
func (o *Object) MayRefresh(now policy.Moment) bool { return int64(now) >= o.retry.Load() }

// Weight returns roughly the heap memory of the object.
func (o *Object) Weight() int64 {
	return int64(unsafe.Sizeof(*o)) + o.Head.weight() + o.Body.weight() + o.encoded.Load().weight()
}

// OnDisk reports whether the body is in a file.
func (o *Object) OnDisk() bool { return o.Body.file != nil }

// IsPart reports whether o is a part (206) of a response, not the whole.
func (o *Object) IsPart() bool { return o.Head.Response.Status == 206 }

// sameVariant reports whether p replaces o: it is the same variant, and the same part of it.
func (o *Object) sameVariant(p *Object) bool {
	a, b := o.Head, p.Head
	return slices.Equal(a.Response.Vary, b.Response.Vary) && string(a.varyValues) == string(b.varyValues) &&
		o.IsPart() == p.IsPart() && (!o.IsPart() || a.Response.Part == b.Response.Part)
}

// Updated returns the response that h becomes by the fields of a 304, or of the answer to a
// HEAD, from which update was parsed. A cookie that may not be stored with a new response is
// not stored here either: it is for one client only.
func (h *Head) Updated(update *policy.Response, fields http1.Fields, asked, now policy.Moment, o *policy.Options) (policy.Response, http1.Fields) {
	all := policy.UpdateFields(nil, h.Hit, fields)
	r := policy.ParseResponse(h.Response.Status, all, asked, now, o)
	if update.SetCookie && (o.SetCookie != policy.StoreCookies || !update.Explicit()) {
		r.Hidden, r.SetCookie = append(r.Hidden, "set-cookie"), false
	}
	return r, all
}
