package balance

import (
	"fmt"
	"sync"
	"time"
)

// ejection is a member's present ejection, or its last one.
type ejection struct {
	number      int // of the member's ejections: a check that began before this one says nothing of it
	count       int // what its length counts: itself, and those before that were not forgiven
	end         time.Time
	unreachable bool // nobody was there: good checks end it
	good        int  // checks in a row since it began
	back        *time.Timer
}

// announcement is what was told last of a member's ejection.
type announcement struct {
	mu      sync.Mutex // held while Config.Moved is called; taken before nothing
	ejected bool
}

// eject ejects the member, if not too many are already, and returns for how long. The
// caller holds record.mu.
func (m *member) eject(cfg *Ejection, now time.Time, why string, unreachable bool) time.Duration {
	r, last := &m.record, m.record.ejection
	if r.closed {
		return 0
	}
	forgiven := 0
	if last.count > 0 {
		forgiven = int(min(int64(now.Sub(last.end)/cfg.Time), int64(last.count)))
	}
	count := last.count - forgiven + 1
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
	maxEjected := int(e.MaxShare * float64(len(t.members)))
	if maxEjected == 0 {
		maxEjected = 1
	}
	maxEjected = min(maxEjected, len(t.members)-1) // requests that fail everywhere must not eject all
	if ejected >= maxEjected {
		return false
	}
	m.since.Store(until.UnixNano()) // its slow start
	m.until.Store(until.UnixNano())
	return true
}

// expire ends the ejection with that number, whatever the wall clock says by now.
func (m *member) expire(number int) {
	m.record.mu.Lock()
	if m.record.ejection.number == number {
		m.until.Store(0)
	}
	m.record.mu.Unlock()
	m.announce("its time is over")
}

// ejections is how many there were so far, for who begins a check.
func (m *member) ejections() int {
	m.record.mu.Lock()
	defer m.record.mu.Unlock()
	return m.record.ejection.number
}

// recordCheck takes the result of a check that began after the member's ejection with that
// number. A member that nobody reached may have been started again: it is back as soon
// as c.Threshold checks in a row are good, and so many more for each ejection that was
// not forgiven, lest it comes and goes with every check. What answered and failed is
// no better for answering checks.
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
		r.reset() // what has come late
		m.since.Store(now.UnixNano())
		m.until.Store(0)
	}
	n := e.good
	r.mu.Unlock()
	if over {
		m.announce(fmt.Sprintf("%d checks in a row are good", n))
	}
}

// announce tells whether the member is ejected, if that is news. Whoever changes it
// calls announce after that, so that the last word is right in whatever order they
// come.
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
