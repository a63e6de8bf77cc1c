package httpcache

import "unsafe"

// hold counts n bytes more that flights hold, or less.
func (fs *flights) hold(n int64) {
	fs.store.lent.budget.Add(n)
	fs.holdCounted(n)
}

// holdCounted is hold for bytes that the budget has counted.
func (fs *flights) holdCounted(n int64) {
	fs.stats.flying.Add(n)
	fs.store.lent.reserve(n)
}

// lend counts what the members still need when the flight has ended: the pieces, and the
// object that was made of them. That is theirs from here on: it does not follow the stored
// one, which may move. f.mu is held.
func (f *Flight) lend() {
	if f.members == 0 {
		return
	}
	if a := f.answer; a != nil && f.state != apart {
		f.answer = &Answer{Head: a.Head, Length: a.Length, Keep: a.Keep}
	}
	if o := f.object; o != nil && !o.onDisk() {
		m := f.made // has the same bytes if the stored one was left in its place
		if m == nil {
			m = o.Body.mem.Load()
		}
		b := &Body{length: o.Body.length}
		b.mem.Store(m)
		b.stage.Store(settled)
		f.object, f.loan = newObject(o.Head, b, o.stamp, o.mark.Load()), m.hold()
	}
	if !f.loan.has(f.pieces.list) {
		f.beside = f.pieces.held
		f.store.lent.add(f.beside)
	}
}

// has tells whether m is made of these pieces, and not a copy.
func (m *memory) has(list []*piece) bool {
	return m != nil && len(m.chunks) > 0 && len(list) > 0 && unsafe.SliceData(m.chunks[0]) == unsafe.SliceData(list[0].buf)
}

// takeBack is lend's opposite, when the last member has left. f.mu is held.
func (f *Flight) takeBack() {
	if !f.ended || f.members > 0 {
		return
	}
	f.loan.Return()
	f.loan = nil
	f.store.lent.add(-f.beside)
	f.beside = 0
}
