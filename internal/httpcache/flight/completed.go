package flight

import (
	"bytes"
	"slices"
	"time"
)

// completedFlight keeps a flight joinable after it has ended, for requests that arrived
// before it ended and, for as long as Answer.Remember, for all requests. It is needed by
// callers that look elsewhere before they join:
//
//	A: joins, stores the answer elsewhere, ends
//	B: looks elsewhere ............................ finds nothing, joins
//	   (before A has stored it there)
//
// Without it B would repeat A's request. The flight is its own member until evict. Flight.mu
// guards the fields.
type completedFlight struct {
	ended         int64       // on the cache's clock
	rememberUntil int64       // until when all requests may join, on the cache's clock; 0: none
	weight        int64       // counted in counters.joinable
	timer         *time.Timer // calls evict
}

// lingerable reports whether the flight has a result for late requests: a body that was
// held as a whole, or a failure that Request.KeepFailure keeps. mu is held.
func (f *Flight) lingerable() bool {
	switch f.state {
	case complete:
		return f.result.object != nil
	case failed:
		return f.result.answer == nil && f.keepFailure != nil && f.keepFailure(f.result.err)
	}
	return false
}

// becomeJoinable makes the flight its own member, if late requests may join it and its
// memory is within the limits. It must be called before the buffer's memory is uncounted.
// mu is held.
func (f *Flight) becomeJoinable() bool {
	d := f.linger
	if f.state == complete {
		d = max(d, f.result.answer.Remember)
	}
	if d <= 0 || !f.lingerable() {
		return false
	}
	weight := flightWeight + int64(len(f.key)) + f.buffer.held
	if f.result.object != nil {
		weight += f.result.object.Weight()
	}
	if f.group.stats.joinable.Add(weight) > f.limits.MaxHeld {
		f.group.stats.joinable.Add(-weight)
		return false
	}
	now := f.group.now()
	f.completed = completedFlight{ended: now, weight: weight}
	if f.state == complete && f.result.answer.Remember > 0 {
		f.completed.rememberUntil = now + int64(f.result.answer.Remember)
	}
	f.enter()
	f.completed.timer = time.AfterFunc(d, f.evict)
	return true
}

// flightWeight is roughly the memory of a flight beside its answer.
const flightWeight = 8 << 10

// evict ends the time in which late requests may join.
func (f *Flight) evict() {
	f.shard.remove(f)
	f.group.stats.joinable.Add(-f.completed.weight)
	f.mu.Lock()
	f.to(draining)
	last := f.leave(0)
	f.mu.Unlock()
	if last {
		f.spill.close()
	}
}

// evictReplaced evicts the joinable flights that f replaces: requests that could join them
// may join f. So only one flight of a key is joinable, beside one that failed if f was
// its retry. f is joinable and no lock is held.
func (f *Flight) evictReplaced() {
	f.shard.Lock()
	earlier := slices.DeleteFunc(slices.Clone(f.shard.byKey[string(f.key)]), func(g *Flight) bool {
		return g == f || g.retry == f || !f.replaces(g)
	})
	f.shard.Unlock()
	for _, g := range earlier {
		if g.completed.timer.Stop() {
			g.evict()
		}
	}
}

// replaces reports whether f has the same answer as g, which is joinable, later and for at
// least as long.
func (f *Flight) replaces(g *Flight) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state == joinable && g.completed.ended <= f.completed.ended && g.completed.rememberUntil <= f.completed.rememberUntil &&
		(g.result.err != nil || f.result.err == nil) &&
		string(g.part) == string(f.part) && slices.Equal(g.guess.names, f.guess.names) && bytes.Equal(g.guess.values, f.guess.values)
}

// tooLate reports whether a request can't join the flight any more because it is over. One
// that is complete is not over before OnBody has returned. mu is held.
func (f *Flight) tooLate(r *Request) bool {
	switch f.state {
	case asking, abandoned, streaming:
		return false
	case complete:
		return r.Arrived == 0 || f.linger == 0 || !f.lingerable()
	case joinable:
		return r.Arrived == 0 || f.remembers(r) && f.group.now() >= f.completed.rememberUntil
	}
	return true
}

// remembers reports whether the flight had ended when the request arrived. mu is held.
func (f *Flight) remembers(r *Request) bool {
	return f.state == joinable && r.Arrived > f.completed.ended
}
