package store

import (
	"slices"
	"unsafe"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/httpcache/policy"
)

// maxVariants is the maximum number of variants, and of markers, under one key.
// maxVariantsWeight is the maximum weight of the variants: the space cannot count beyond 4
// GiB.
const (
	maxVariants       = 64
	maxVariantsWeight = 3 << 30
)

// Resource is the value under a primary key. It is immutable: a change makes another one
// (see Store.replace).
type Resource struct {
	variants []*Object // the preferred ones first
	markers  []marker

	// The tracked bodies, once the resource is stored in memory.
	bodies   []*Body
	inFlight *BodiesInFlight
}

// marker records that requests with these values get answers that cannot be shared, so that
// they need not wait for each other.
type marker struct {
	names      []string // of Vary
	varyValues []byte
	until      policy.Moment
}

// Query is the key of a look-up. It belongs to one goroutine and may be used again; its Key
// and Fields must not change while it is in use.
type Query struct {
	Key     []byte       // from AppendKey
	Fields  http1.Fields // of the request
	Now     policy.Moment
	At      int64 // Now on the cache's clock, for the lease
	Options *policy.Options
	// OriginFields returns the fields of the request by which an origin selects among
	// responses that vary by names. Nil means that they are Fields.
	OriginFields func(names []string) http1.Fields

	names   []string // the names that values are of
	scratch []byte
	values  []byte
	ready   bool
}

// Reset makes q ready for another request and keeps its memory.
func (q *Query) Reset() { *q = Query{values: q.values[:0], scratch: q.scratch[:0]} }

// VaryValues returns the request's values of the fields named, normalized for comparison.
// They are valid until the next call.
func (q *Query) VaryValues(names []string) []byte {
	if !q.ready || !slices.Equal(q.names, names) {
		q.values = policy.AppendVaryValues(q.values[:0], names, q.fieldsFor(names), q.Options)
		q.names, q.ready = names, true
	}
	return q.values
}

func (q *Query) fieldsFor(names []string) http1.Fields {
	if q.OriginFields != nil {
		return q.OriginFields(names)
	}
	return q.Fields
}

// Answers reports whether a response with this head was negotiated for requests like q.
func (h *Head) Answers(q *Query) bool {
	r := &h.Response
	switch {
	case r.VaryAll:
		return false
	case len(r.Vary) == 0, string(q.VaryValues(r.Vary)) == string(h.varyValues):
		return true
	}
	return policy.Matches(r, h.varyValues, q.fieldsFor(r.Vary), q.Options)
}

func (m *marker) matches(q *Query) bool {
	return q.Now < m.until && string(q.VaryValues(m.names)) == string(m.varyValues)
}

// with returns the resource with o in it, in place of the same variant.
func (r *Resource) with(o *Object) *Resource {
	next := &Resource{variants: make([]*Object, 0, len(r.variants)+1)}
	placed := false
	for _, v := range r.variants {
		if v.sameVariant(o) {
			continue
		}
		if !placed && !v.Head.Response.Better(&o.Head.Response) {
			next.variants, placed = append(next.variants, o), true
		}
		next.variants = append(next.variants, v)
	}
	if !placed {
		next.variants = append(next.variants, o)
	}
	for _, m := range r.markers {
		if !m.sameRequests(o.Head) {
			next.markers = append(next.markers, m)
		}
	}
	for n := len(next.variants); n > 1 && (n > maxVariants || next.weight() > maxVariantsWeight); n-- {
		next.dropOldest(o)
	}
	return next
}

// dropOldest removes the variant with the earliest response, except keep.
func (r *Resource) dropOldest(keep *Object) {
	oldest := -1
	for i, v := range r.variants {
		if v != keep && (oldest < 0 || v.Head.Response.ResponseTime < r.variants[oldest].Head.Response.ResponseTime) {
			oldest = i
		}
	}
	r.variants = slices.Delete(r.variants, oldest, oldest+1)
}

func (m *marker) sameRequests(h *Head) bool {
	return slices.Equal(m.names, h.Response.Vary) && string(m.varyValues) == string(h.varyValues)
}

// without returns the resource without the variants for which drop returns true.
func (r *Resource) without(drop func(*Object) bool) *Resource {
	next := &Resource{markers: r.markers}
	for _, v := range r.variants {
		if !drop(v) {
			next.variants = append(next.variants, v)
		}
	}
	return next
}

// withMarker returns the resource with m in it. Expired markers are removed, and the oldest
// one if there are too many.
func (r *Resource) withMarker(m marker, now policy.Moment) *Resource {
	next := &Resource{variants: r.variants}
	for _, old := range r.markers {
		if old.until > now && !(slices.Equal(old.names, m.names) && string(old.varyValues) == string(m.varyValues)) {
			next.markers = append(next.markers, old)
		}
	}
	next.markers = append(next.markers, m)
	if len(next.markers) > maxVariants {
		next.markers = next.markers[1:]
	}
	return next
}

// vary returns the names by which variants of this resource were last known to vary, nil if
// none are known.
func (r *Resource) vary() []string {
	for _, v := range r.variants {
		if len(v.Head.Response.Vary) > 0 {
			return v.Head.Response.Vary
		}
	}
	for _, m := range r.markers {
		if len(m.names) > 0 {
			return m.names
		}
	}
	return nil
}

// inMemory reports whether a part of the resource is kept only in memory.
func (r *Resource) inMemory() bool {
	return len(r.markers) > 0 || slices.ContainsFunc(r.variants, func(o *Object) bool { return !o.OnDisk() })
}

func (r *Resource) has(o *Object) bool { return slices.Contains(r.variants, o) }

// weight returns roughly the heap memory of the resource.
func (r *Resource) weight() int64 {
	w := int64(unsafe.Sizeof(*r)) + int64(8*len(r.variants))
	for _, v := range r.variants {
		if !v.OnDisk() { // the disk index counts the others
			w += v.Weight()
		}
	}
	for _, m := range r.markers {
		w += int64(unsafe.Sizeof(m)) + int64(len(m.varyValues)) + namesWeight(m.names)
	}
	return w
}

func namesWeight(names []string) int64 {
	w := int64(0)
	for _, n := range names {
		w += int64(unsafe.Sizeof(n)) + int64(len(n))
	}
	return w
}
