package balance

import (
	"sync"
	"time"
)

// record holds a member's recent failures.
type record struct {
	mu          sync.Mutex // guards all fields below; taken before Group.mu
	consecutive int
	unreachable bool // all consecutive failures were of connections
	window      [windowSlices]slice
	ejection    ejection
	why         string // reason for the last ejection or failed check
	closed      bool
}

// windowSlices is the number of slices of Ejection.Window; the oldest is dropped as a whole.
const windowSlices = 10

// slice counts the requests of a slice of the window. reached counts the bad ones that
// failed although the member was reachable.
type slice struct {
	tick               int64
	good, bad, reached int
}

// slice returns the current slice. The caller holds mu.
func (r *record) slice(window time.Duration, now time.Time) (*slice, int64) {
	tick := now.UnixNano() / max(1, int64(window)/windowSlices)
	s := &r.window[tick%windowSlices]
	if s.tick != tick {
		*s = slice{tick: tick}
	}
	return s, tick
}

// recordSuccess counts a successful request.
func (m *member) recordSuccess(now time.Time) {
	r, e := &m.record, &m.cfg.Load().Ejection
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consecutive = 0
	s, _ := r.slice(e.Window, now)
	s.good++
}

// recordFailure counts a failed request, and ejects the member if there are too many.
// Failures reported while it is ejected, late or in a panic, don't extend the ejection.
// unreachable means that no connection could be made, or that it broke.
func (m *member) recordFailure(now time.Time, why string, unreachable bool) {
	r, cfg := &m.record, m.cfg.Load()
	e := &cfg.Ejection
	r.mu.Lock()
	s, tick := r.slice(e.Window, now)
	s.bad++
	if !unreachable {
		s.reached++
	}
	r.unreachable = unreachable && (r.unreachable || r.consecutive == 0)
	r.consecutive++
	length := time.Duration(0)
	if tooMany, unreachable := r.tooMany(e, tick); tooMany && !e.Disabled && !m.ejected(now) {
		length = m.eject(e, now, why, unreachable)
	}
	r.mu.Unlock()
	if length > 0 {
		m.metrics.ejections.Inc()
		m.announce("after " + why + ", for " + length.String())
	}
}

// tooMany reports whether the failures so far are too many, and whether the member was
// unreachable each time. The caller holds mu.
func (r *record) tooMany(e *Ejection, tick int64) (tooMany, unreachable bool) {
	if r.consecutive >= e.Consecutive {
		return true, r.unreachable
	}
	good, bad, reached := 0, 0, 0
	for i := range r.window {
		if s := &r.window[i]; s.tick > tick-windowSlices {
			good += s.good
			bad += s.bad
			reached += s.reached
		}
	}
	all := good + bad
	return all >= e.MinRequests && float64(bad) >= e.FailureRate*float64(all), reached == 0
}

// reset clears the counters. The caller holds mu.
func (r *record) reset() { r.consecutive, r.window = 0, [windowSlices]slice{} }

// close prevents further ejections and stops the timer.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.ejection.back != nil {
		r.ejection.back.Stop()
	}
}
