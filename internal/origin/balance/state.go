package balance

import "time"

// MemberState is a snapshot of a member for reports.
type MemberState struct {
	Name, URL string
	Weight    float64
	// State is "drained", "down" (by its checks), "ejected" (by failed requests), "broken"
	// (its circuit breaker is open), the first of these that applies, or "up".
	State string
	// Down is true if the member probably can't answer: it is not up, or the last connection
	// to it failed a moment ago.
	Down bool
	// Why is the reason for the last ejection or failed check; "" without one.
	Why string
	// Until is the latest end of an ejection; zero without one.
	Until time.Time
	// InFlight counts the exchanges whose body has not ended.
	InFlight int
}

// Members returns the states of the members in the order of Config.Members.
func (g *Group) Members() []MemberState {
	t, now := g.table.Load(), time.Now()
	states := make([]MemberState, len(t.members))
	for i, m := range t.members {
		s := &states[i]
		s.Name, s.URL, s.Weight = m.name, m.url, t.shares[i].weight
		s.State, s.InFlight = m.state(now), int(m.inflight.Load())
		s.Down = s.State != "up" || m.gate.Unreachable(now)
		if m.ejected(now) {
			s.Until = time.Unix(0, m.until.Load())
		}
		m.record.mu.Lock()
		s.Why = m.record.why
		m.record.mu.Unlock()
	}
	return states
}

// state returns MemberState.State.
func (m *member) state(now time.Time) string {
	switch {
	case m.drained.Load():
		return "drained"
	case m.down.Load():
		return "down"
	case m.ejected(now):
		return "ejected"
	case m.gate.State(now) == "open":
		return "broken"
	}
	return "up"
}
