package balance

import (
	"sync"
	"time"
)

// record is what is known of a member's failures.
type record struct {
	mu          sync.Mutex // guards all below; taken before Group.mu
	consecutive int
	window      [windowSlices]slice
	ejections   int       // what the next one's length counts
	end         time.Time // of the last ejection
	why         string    // for the last ejection or failed check
	back        *time.Timer
	closed      bool
}

// windowSlices is how many parts Ejection.Window is counted in; the oldest is dropped
// whole.
const windowSlices = 10

// slice counts the requests of a part of the window.
type slice struct {
	tick      int64
	good, bad int
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

// succeeded counts a request that went well.
func (m *member) succeeded(now time.Time) {
	r, e := &m.record, &m.cfg.Load().Ejection
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consecutive = 0
	s, _ := r.slice(e.Window, now)
	s.good++
}

// failed counts one that did not, and ejects the member if that were too many. What
// comes late, or in a panic, while it is ejected says nothing new.
func (m *member) failed(now time.Time, why string) {
	r, cfg := &m.record, m.cfg.Load()
	e := &cfg.Ejection
	r.mu.Lock()
	s, tick := r.slice(e.Window, now)
	s.bad++
	r.consecutive++
	length := time.Duration(0)
	if !e.Disabled && !m.ejected(now) && (r.consecutive >= e.Consecutive || r.exceeded(e, tick)) {
		length = m.eject(e, now, why)
	}
	r.mu.Unlock()
	if length > 0 {
		m.metrics.ejections.Inc()
		m.tell("up", "ejected", "after "+why+", for "+length.String())
	}
}

// exceeded reports whether the rate of failures in the window is too high. The
// caller holds mu.
func (r *record) exceeded(e *Ejection, tick int64) bool {
	good, bad := 0, 0
	for i := range r.window {
		if s := &r.window[i]; s.tick > tick-windowSlices {
			good += s.good
			bad += s.bad
		}
	}
	all := good + bad
	return all >= e.MinRequests && float64(bad) >= e.FailureRate*float64(all)
}

// eject ejects the member, if not too many are already, and returns for how long. The
// caller holds record.mu.
func (m *member) eject(e *Ejection, now time.Time, why string) time.Duration {
	r := &m.record
	if r.closed {
		return 0
	}
	forgiven := 0
	if r.ejections > 0 {
		forgiven = int(min(int64(now.Sub(r.end)/e.Time), int64(r.ejections)))
	}
	count := r.ejections - forgiven + 1
	length := min(time.Duration(count)*e.Time, e.MaxTime)
	if !m.g.admitEjection(m, e, now, now.Add(length)) {
		return 0
	}
	r.ejections, r.end, r.why = count, now.Add(length), why
	r.consecutive, r.window = 0, [windowSlices]slice{}
	r.back = time.AfterFunc(length, func() { m.tell("ejected", "up", "its time is over") })
	return length
}

// admitEjection notes the ejection of m if the share of ejected members allows it.
func (g *Group) admitEjection(m *member, e *Ejection, now, until time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.table.Load()
	ejected := 0
	for _, o := range t.members {
		if o.ejected(now) {
			ejected++
		}
	}
	most := int(e.MaxShare * float64(len(t.members)))
	if most == 0 && len(t.members) > 1 {
		most = 1
	}
	if ejected >= most {
		return false
	}
	m.since.Store(until.UnixNano()) // its slow start
	m.until.Store(until.UnixNano())
	return true
}

// close lets nothing happen any more.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.back != nil {
		r.back.Stop()
	}
}
