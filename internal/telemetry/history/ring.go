package history

import "time"

// interval is the figures of a service between two moments.
type interval struct {
	end   time.Time
	takes time.Duration
	figures
}

func (i *interval) add(o *interval) {
	i.end = o.end
	i.takes += o.takes
	i.figures.add(&o.figures)
}

// ring holds the newest intervals, up to a number.
type ring struct {
	all    []interval
	oldest int // index in all, once it is full
}

func newRing(limit int) ring { return ring{all: make([]interval, 0, limit)} }

// push adds the newest interval, in the place of the oldest one if the ring is full.
func (r *ring) push(i interval) {
	if len(r.all) < cap(r.all) {
		r.all = append(r.all, i)
		return
	}
	r.all[r.oldest] = i
	r.oldest = (r.oldest + 1) % len(r.all)
}

// after returns a copy of the intervals that ended after t, the oldest first.
func (r *ring) after(t time.Time) []interval {
	list := make([]interval, 0, len(r.all)+1)
	for n := range r.all {
		if i := &r.all[(r.oldest+n)%len(r.all)]; i.end.After(t) {
			list = append(list, *i)
		}
	}
	return list
}

// merged returns the intervals as one.
func merged(all []interval) (one interval) {
	for i := range all {
		one.add(&all[i])
	}
	return one
}
