package balance

import (
	"sync"
	"time"
)

// record is what is known of a member's failures.
type record struct {
	mu          sync.Mutex // guards all below; taken before Group.mu
	consecutive int
	unreachable bool // nobody was there, each time of those
	window      [windowSlices]slice
	ejection    ejection
	why         string // for the last ejection or failed check
	closed      bool
}

// windowSlices is how many parts Ejection.Window is counted in; the oldest is dropped
// whole.
const windowSlices = 10

// slice counts the requests of a part of the window. Of the bad ones, reached failed
// although somebody was there.
type slice struct {
	tick               int64
	good, bad, reached int
}

// slice returns the part to count in now. The caller holds mu.
func (r *record) slice(window time.Duration, now time.Time) (*slice, int64) {
	tick := now.UnixNano() / max(1, int64(window)/windowSlices)
	s := &r.window[tick%windowSlices]
	if s.tick != tick {
		*s = slice{tick: tick}
	}
	return s, tick
}

// recordSuccess counts a request that went well.
func (m *member) recordSuccess(now time.Time) {
	r, e := &m.record, &m.cfg.Load().Ejection
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consecutive = 0
	s, _ := r.slice(e.Window, now)
	s.good++
}

// recordFailure counts one that did not, and ejects the member if that were too many. What
// comes late, or in a panic, while it is ejected says nothing new. away says that
// nobody was there: no connection could be made, or it broke.
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

// tooMany reports whether the failures so far are too many, and whether nobody was
// there at any of those that count. The caller holds mu.
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

// reset lets what was counted so far eject nobody. The caller holds mu.
func (r *record) reset() { r.consecutive, r.window = 0, [windowSlices]slice{} }

// close lets nothing happen any more.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.ejection.back != nil {
		r.ejection.back.Stop()
	}
}
