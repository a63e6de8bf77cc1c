package httpcache

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

	own     *Tags        // Tags without those that it inherits; nil: it inherits none
	asked   []byte       // the request's values of the fields that Vary names
	hit     http1.Fields // what a hit has, and an update is made to
	shown   http1.Fields // what Lines repeats: hit without what clients don't get
	offered bool         // in content codings
	made    bool         // the validator is ours: the origin does not know it
	cookies bool         // Lines has a Set-Cookie
}

// NewHead makes a head. fields are the response's end-to-end fields in memory of
// their own, Date among them; response was parsed from them. request are the
// fields of the request that it answers.
func NewHead(response policy.Response, fields, request http1.Fields, o *policy.Options) *Head {
	h := &Head{Response: response, Fields: fields, Tags: ParseTags(fields)}
	h.asked = policy.AppendVaryValues(nil, response.Vary, request, o)
	h.hit = policy.HitFields(nil, fields, &h.Response, o)
	h.show(o)
	return h
}

// show makes the lines of hit that clients get.
func (h *Head) show(o *policy.Options) {
	h.shown = h.hit
	if len(o.Strip) > 0 {
		h.shown = slices.DeleteFunc(slices.Clone(h.hit), func(f http1.Field) bool { return o.Strips(f.Name) })
	}
	h.cookies = h.Response.SetCookie && h.shown.Get("Set-Cookie") != nil
	h.Lines = lines(h.shown)
}

// allowed reports whether a stored response with this head may be used with options
// that may not be those that it was stored with: what they say of Set-Cookie counts.
func (h *Head) allowed(o *policy.Options) bool {
	switch o.SetCookie {
	case policy.RefuseCookies:
		return !h.Response.SetCookie
	case policy.StripCookies:
		return !h.cookies
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
	w := int64(unsafe.Sizeof(*h)) + int64(cap(h.Lines)+cap(h.asked)) + 4*int64(len(h.Tags.slots))
	w += int64(cap(h.Fields)+cap(h.hit)+cap(h.shown)) * int64(unsafe.Sizeof(http1.Field{}))
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

	stamp cache.Stamp   // the generations before its origin was asked
	mark  atomic.Uint64 // the number of the newest purge that it was held against
	fate  atomic.Uint32 // a policy.Mark, which only grows
	forms atomic.Pointer[forms]
	retry atomic.Int64 // the policy.Moment before which it is not validated in the background
}

func newObject(h *Head, b *Body, stamp cache.Stamp, mark uint64) *Object {
	o := &Object{Head: h, Body: b, stamp: stamp}
	o.mark.Store(mark)
	return o
}

// Mark says what has happened to it since it was stored.
func (o *Object) Mark() policy.Mark { return policy.Mark(o.fate.Load()) }

// SetMark marks it, unless it has a stronger mark.
func (o *Object) SetMark(m policy.Mark) {
	for {
		old := o.fate.Load()
		if old >= uint32(m) || o.fate.CompareAndSwap(old, uint32(m)) {
			return
		}
	}
}

// RefreshFailed keeps the object from being validated in the background until
// then.
func (o *Object) RefreshFailed(until policy.Moment) { o.retry.Store(int64(until)) }

// MayRefresh tells whether it may be validated in the background.
func (o *Object) MayRefresh(now policy.Moment) bool { return int64(now) >= o.retry.Load() }

// weight is what the object takes of the heap, roughly.
func (o *Object) weight() int64 {
	return int64(unsafe.Sizeof(*o)) + o.Head.weight() + o.Body.weight() + o.forms.Load().weight()
}

// onDisk tells whether its body lies in a file.
func (o *Object) onDisk() bool { return o.Body.file != nil }

// part tells whether the object is a part of a response and not the whole.
func (o *Object) part() bool { return o.Head.Response.Status == 206 }

// twin tells whether p takes the place of o: the same variant, and the same part
// of it.
func (o *Object) twin(p *Object) bool {
	a, b := o.Head, p.Head
	return sameNames(a.Response.Vary, b.Response.Vary) && string(a.asked) == string(b.asked) &&
		o.part() == p.part() && (!o.part() || a.Response.Part == b.Response.Part)
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
