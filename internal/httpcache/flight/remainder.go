package flight

import "github.com/kasoku/kasoku/internal/httpcache/store"

// remainder is the memory that a flight's members still read after it has ended. It is
// counted in the store's bodies in flight until the last member leaves. Flight.mu guards it.
type remainder struct {
	gathered *store.Memory // of the body that was made of the buffer; nil: none was
	body     *store.Memory // of the object, held for the members; nil: none is
	pieces   int64         // bytes of the buffer that are not also memory of body
	in       *store.BodiesInFlight
}

// retainRemainder counts the memory that members still need: the pieces of the buffer and
// the object that was made of them. The object is the members' own from here on, since the
// stored one may move to other memory. mu is held, and the goroutine is about to end.
func (f *Flight) retainRemainder() {
	if f.members.n == 0 {
		return
	}
	res, rem := &f.result, &f.remainder
	rem.in = f.group.store.InFlight()
	if a := res.answer; a != nil && f.state != private {
		res.answer = &Answer{Head: a.Head, Length: a.Length, Share: a.Share, Keep: a.Keep}
	}
	if o := res.object; o != nil && !o.OnDisk() {
		m := rem.gathered // has the same bytes if the stored one was left in its place
		if m == nil {
			m = o.Body.Memory()
		}
		res.object, rem.body = o.In(m), m.Hold()
	}
	if p := f.buffer.pieces; len(p) == 0 || !rem.body.Starts(p[0].buf) {
		rem.pieces = f.buffer.held
		rem.in.Add(rem.pieces)
	}
}

// release uncounts the memory, when the last member has left.
func (r *remainder) release() {
	r.body.Return()
	r.body = nil
	if r.pieces != 0 {
		r.in.Add(-r.pieces)
		r.pieces = 0
	}
}

// pace returns how many bytes a second a member has to read.
func (r *remainder) pace() int64 {
	n := r.body.Pace()
	if r.pieces != 0 {
		n += r.in.Pace(r.pieces)
	}
	return n
}
