package httpcache

// hold counts n bytes more that flights hold, or less.
func (fs *flights) hold(n int64) {
	fs.budget.Add(n)
	fs.holdCounted(n)
}

// holdCounted is hold for bytes that the budget has counted.
func (fs *flights) holdCounted(n int64) {
	fs.stats.flying.Add(n)
	fs.store.InFlight().Reserve(n)
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
	if o := f.object; o != nil && !o.OnDisk() {
		m := f.made // has the same bytes if the stored one was left in its place
		if m == nil {
			m = o.Body.Memory()
		}
		f.object, f.loan = o.In(m), m.Hold()
	}
	if len(f.pieces.list) == 0 || !f.loan.Starts(f.pieces.list[0].buf) {
		f.beside = f.pieces.held
		f.store.InFlight().Add(f.beside)
	}
}

// takeBack is lend's opposite, when the last member has left. f.mu is held.
func (f *Flight) takeBack() {
	if !f.ended || f.members > 0 {
		return
	}
	f.loan.Return()
	f.loan = nil
	f.store.InFlight().Add(-f.beside)
	f.beside = 0
}
