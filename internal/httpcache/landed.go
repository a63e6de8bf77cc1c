package httpcache

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// landed is what a flight is when it is over and others may still come for what it
// came to: those who had asked before, and until a time everybody.
//
// Who has to look elsewhere before flying needs that:
//
//	A: flies, has the answer put elsewhere, ends
//	B: looks elsewhere ............................ finds nothing, flies
//	   (before A has put it there)
//
// B asks for what A has had already. A flight stays in its shard, as its own member,
// until it departs. f.mu guards all but weight.
type landed struct {
	over   int64       // when it ended, on the cache's clock; 0: it has not
	all    int64       // until when everybody gets its answer
	weight int64       // what is counted of it in stats.staying; 0: it does not stay
	timer  *time.Timer // that has it depart
}

// settle lets the answer's owner have its body, with which the flight is over.
func (f *Flight) settle(err error) {
	f.mu.Lock()
	a, o, state := f.answer, f.object, f.state
	f.mu.Unlock()
	switch {
	case a == nil || a.After == nil || state == apart:
	case err != nil || o == nil:
		a.After(nil)
	default:
		a.After(o.Body)
	}
}

// lasts tells whether there is something to come for when f is over: an answer that is
// whole, or the origin's failure to give one. mu is held.
func (f *Flight) lasts() bool {
	switch f.state {
	case whole:
		return f.object != nil
	case failed:
		var fault *origin.Fault
		return f.answer == nil && errors.As(f.err, &fault)
	}
	return false
}

// land lets f stay for a while, if that is wanted and does not take too much. It is the
// first that is done when f ends, so that what f holds is counted as lent. mu is held.
func (f *Flight) land() {
	stays := f.staysFor()
	if stays <= 0 || !f.lasts() {
		return
	}
	weight := flightWeight + int64(len(f.key)) + f.pieces.held
	if f.object != nil {
		weight += f.object.Weight()
	}
	if f.flights.stats.staying.Add(weight) > f.limits.Flying {
		f.flights.stats.staying.Add(-weight)
		return
	}
	f.landed = landed{over: f.flights.space.Cache().Now(), weight: weight}
	if f.state == whole && f.answer.Remember > 0 {
		f.landed.all = f.landed.over + int64(f.answer.Remember)
	}
	f.members++
	f.pieces.enter()
	f.fill = nil // with it goes what has brought the answer: more than the answer, if that is short
	f.landed.timer = time.AfterFunc(stays, f.depart)
}

// flightWeight is what a flight takes of the heap beside what it has brought, roughly.
const flightWeight = 8 << 10

// relieve has those depart that landed before f and in whose place it is: whoever would
// come for what they brought may have what f did. So of a key that is asked for again and
// again one stays, besides one that failed if f is the second try of those who had joined
// that. f has landed, and no lock is held.
func (f *Flight) relieve() {
	f.shard.Lock()
	earlier := slices.DeleteFunc(slices.Clone(f.shard.byKey[string(f.key)]), func(g *Flight) bool {
		return g == f || g.after == f || !f.replaces(g)
	})
	f.shard.Unlock()
	for _, g := range earlier {
		if g.landed.timer.Stop() {
			g.depart()
		}
	}
}

// replaces tells whether f brought what g did, which has landed, later and for as long.
func (f *Flight) replaces(g *Flight) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.landed.weight > 0 && g.landed.over <= f.landed.over && g.landed.all <= f.landed.all && (g.state == failed || f.state == whole) &&
		string(g.part) == string(f.part) && slices.Equal(g.guess.names, f.guess.names) && bytes.Equal(g.guess.values, f.guess.values)
}

// staysFor is how long somebody may come for what f came to. mu is held.
func (f *Flight) staysFor() time.Duration {
	if f.state == whole {
		return max(f.lateFor, f.answer.Remember)
	}
	return f.lateFor
}

// depart is the end of f's stay.
func (f *Flight) depart() {
	f.shard.remove(f)
	f.flights.stats.staying.Add(-f.landed.weight)
	(&Ticket{flight: f}).Leave()
}

// past tells whether f brings nothing to who asks. One that has come to something is not
// over before its owner has had it. mu is held.
func (f *Flight) past(a *Ask) bool {
	switch {
	case !f.over():
		return false
	case !f.ended:
		return a.Asked == 0 || f.lateFor == 0 || !f.lasts()
	}
	return f.landed.weight == 0 || a.Asked == 0 || f.remembered(a) && f.flights.space.Cache().Now() >= f.landed.all
}

// remembered tells whether f was over when who asks did. mu is held.
func (f *Flight) remembered(a *Ask) bool { return f.ended && a.Asked > f.landed.over }

// isRemembered is remembered with mu not held.
func (f *Flight) isRemembered(a *Ask) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remembered(a)
}
