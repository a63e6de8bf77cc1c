package balance

import (
	"fmt"
	"sync"
	"time"
)

// ejection is a member's current ejection, or its last one.
type ejection struct {
	number      int // sequence number of the member's ejections; earlier checks don't count for this one
	count       int // multiplier of its length: this ejection and the earlier ones that still count
	end         time.Time
	unreachable bool // all failures were of connections: successful checks end it
	good        int  // successful checks in a row since it began
	back        *time.Timer
}

// announcement is the state of a member's ejection that was passed to OnStateChange last.
type announcement struct {
	mu      sync.Mutex // held while Config.OnStateChange is called; no other lock is taken under it
	ejected bool
}

// eject ejects the member unless too many are ejected already, and returns the length of the
// ejection, or 0. The caller holds record.mu.
func (m *member) eject(cfg *Ejection, now time.Time, why string, unreachable bool) time.Duration {
	r, last := &m.record, m.record.ejection
	if r.closed {
		return 0
	}
	forgotten := 0
	if last.count > 0 {
		forgotten = int(min(int64(now.Sub(last.end)/cfg.Time), int64(last.count)))
	}
	count := last.count - forgotten + 1
	length := min(time.Duration(count)*cfg.Time, cfg.MaxTime)
	if !m.g.admitEjection(m, cfg, now, now.Add(length)) {
		return 0
	}
	number := last.number + 1
	back := time.AfterFunc(length, func() { m.expire(number) })
	r.ejection = ejection{number: number, count: count, end: now.Add(length), unreachable: unreachable, back: back}
	r.why = why
	r.reset()
	return length
}

// admitEjection ejects m until the given time if the share of ejected members allows it.
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
	maxEjected := int(e.MaxShare * float64(len(t.members)))
	if maxEjected == 0 {
		maxEjected = 1
	}
	maxEjected = min(maxEjected, len(t.members)-1) // requests that fail everywhere must not eject all
	if ejected >= maxEjected {
		return false
	}
	m.since.Store(until.UnixNano()) // slow start begins then
	m.until.Store(until.UnixNano())
	return true
}

// expire ends the ejection with that number, independently of the wall clock.
func (m *member) expire(number int) {
	m.record.mu.Lock()
	if m.record.ejection.number == number {
		m.until.Store(0)
	}
	m.record.mu.Unlock()
	m.announce("its time is over")
}

// ejections returns the number of ejections so far, for a check that begins.
func (m *member) ejections() int {
	m.record.mu.Lock()
	defer m.record.mu.Unlock()
	return m.record.ejection.number
}

// recordCheck records the result of a check that began after the member's ejection with that
// number. A member that was unreachable may have been restarted: its ejection ends as soon
// as c.Threshold checks in a row succeed, times the ejections that count, so that it does
// not alternate with every check. For a member that answered with failures, successful
// checks prove nothing.
func (m *member) recordCheck(c Check, number int, good bool, now time.Time) {
	r := &m.record
	r.mu.Lock()
	e := &r.ejection
	switch {
	case !good:
		e.good = 0
	case number == e.number:
		e.good++
	}
	over := e.unreachable && e.good >= c.Threshold*e.count && m.ejected(now)
	if over {
		e.end = now
		e.back.Stop()
		r.reset() // failures reported late
		m.since.Store(now.UnixNano())
		m.until.Store(0)
	}
	n := e.good
	r.mu.Unlock()
	if over {
		m.announce(fmt.Sprintf("%d checks in a row are good", n))
	}
}

// announce calls OnStateChange if the ejection of the member has changed. It is called after
// each change, so that the last call reports the final state, in whatever order the calls
// happen.
func (m *member) announce(why string) {
	m.announced.mu.Lock()
	defer m.announced.mu.Unlock()
	ejected := m.ejected(time.Now())
	switch {
	case ejected == m.announced.ejected:
		return
	case ejected:
		m.notify("up", "ejected", why)
	default:
		m.notify("ejected", "up", why)
	}
	m.announced.ejected = ejected
}
