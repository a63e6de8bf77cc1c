package store

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// Head is what is kept of a response beside its body. It is immutable once it
// is in an object or an Answer.
type Head struct {
	// Response is what the fields say to a cache.
	Response policy.Response
	// Fields are the end-to-end fields in their order, in memory of their own.
	Fields http1.Fields
	// Lines are the fields that a hit is sent with (policy.HitFields), ready for
	// Reply.Lines.
	Lines []byte
	// Tags are its surrogate tags.
	Tags Tags

	// Added are the lines that an answer with this response has beside Fields; they
	// are in Lines.
	Added []byte

	ownTags     *Tags        // Tags without those that it inherits; nil: it inherits none
	varyValues  []byte       // the request's values of the fields that Vary names
	Hit         http1.Fields // what a hit has, and an update is made to
	visible     http1.Fields // what Lines repeats: hit without what clients don't get
	offered     bool         // in content codings
	Synthesized bool         // the validator is ours: the origin does not know it
	setsCookie  bool         // Lines has a Set-Cookie
}

// NewHead makes a head. fields are the response's end-to-end fields in memory of
// their own, Date among them; response was parsed from them. request are the
// fields of the request that it answers.
func NewHead(response policy.Response, fields, request http1.Fields, o *policy.Options) *Head {
	h := &Head{Response: response, Fields: fields, Tags: ParseTags(fields)}
	h.varyValues = policy.AppendVaryValues(nil, response.Vary, request, o)
	h.Hit = policy.HitFields(nil, fields, &h.Response, o)
	h.render(o)
	return h
}

// render makes the lines of hit that clients get.
func (h *Head) render(o *policy.Options) {
	h.visible = h.Hit
	if len(o.Strip) > 0 {
		h.visible = slices.DeleteFunc(slices.Clone(h.Hit), func(f http1.Field) bool { return o.Strips(f.Name) })
	}
	h.setsCookie = h.Response.SetCookie && h.visible.Get("Set-Cookie") != nil
	h.Lines = lines(h.visible)
}

// usableWith reports whether a stored response with this head may be used with options
// that may not be those that it was stored with: what they say of Set-Cookie counts.
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

// weight is what the head takes of the heap, roughly.
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
	purgeSeen atomic.Uint64 // the number of the newest purge that it was held against
	marked    atomic.Uint32 // a policy.Mark, which only grows
	encoded   atomic.Pointer[encodedVariants]
	retry     atomic.Int64 // the policy.Moment before which it is not validated in the background
}

func NewObject(h *Head, b *Body, at Fence) *Object {
	o := &Object{Head: h, Body: b, stamp: at.Stamp}
	o.purgeSeen.Store(at.purge)
	return o
}

// fence is the one that o was made with, except that it is held against newer purges by now.
func (o *Object) fence() Fence { return Fence{Stamp: o.stamp, purge: o.purgeSeen.Load()} }

// In is o with its body in m, which stays there: it does not follow a stored body that moves.
func (o *Object) In(m *Memory) *Object {
	b := &Body{length: o.Body.length}
	b.mem.Store(m)
	b.stage.Store(fixed)
	return NewObject(o.Head, b, o.fence())
}

// CopyEncoded gives o the coded forms of another object that has the same body.
func (o *Object) CopyEncoded(from *Object) { o.encoded.Store(from.encoded.Load().withHead(o.Head)) }

// MarkUncacheable says what has happened to it since it was stored.
func (o *Object) Mark() policy.Mark { return policy.Mark(o.marked.Load()) }

// SetMark marks it, unless it has a stronger mark.
func (o *Object) SetMark(m policy.Mark) {
	for {
		old := o.marked.Load()
		if old >= uint32(m) || o.marked.CompareAndSwap(old, uint32(m)) {
			return
		}
	}
}

// RefreshFailed keeps the object from being validated in the background until
// then.
func (o *Object) RefreshFailed(until policy.Moment) { o.retry.Store(int64(until)) }

// MayRefresh tells whether it may be validated in the background.
func (o *Object) MayRefresh(now policy.Moment) bool { return int64(now) >= o.retry.Load() }

// Weight is what the object takes of the heap, roughly.
func (o *Object) Weight() int64 {
	return int64(unsafe.Sizeof(*o)) + o.Head.weight() + o.Body.weight() + o.encoded.Load().weight()
}

// OnDisk tells whether its body lies in a file.
func (o *Object) OnDisk() bool { return o.Body.file != nil }

// IsPart tells whether the object is a part of a response and not the whole.
func (o *Object) IsPart() bool { return o.Head.Response.Status == 206 }

// sameVariant tells whether p takes the place of o: the same variant, and the same part
// of it.
func (o *Object) sameVariant(p *Object) bool {
	a, b := o.Head, p.Head
	return sameNames(a.Response.Vary, b.Response.Vary) && string(a.varyValues) == string(b.varyValues) &&
		o.IsPart() == p.IsPart() && (!o.IsPart() || a.Response.Part == b.Response.Part)
}

func sameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Updated is the response that h's becomes by the fields of a 304, or of a HEAD's
// answer, which told was parsed from. A cookie that could not be stored with a new
// response is not stored with this one either: it is for the client that asked.
func (h *Head) Updated(told *policy.Response, fields http1.Fields, asked, now policy.Moment, o *policy.Options) (policy.Response, http1.Fields) {
	all := policy.UpdateFields(nil, h.Hit, fields)
	r := policy.ParseResponse(h.Response.Status, all, asked, now, o)
	if told.SetCookie && (o.SetCookie != policy.StoreCookies || !told.Explicit()) {
		r.Hidden, r.SetCookie = append(r.Hidden, "set-cookie"), false
	}
	return r, all
}
