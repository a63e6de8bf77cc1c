package origin

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Gate is the circuit breaker of a Client for callers that use a Transport. It is safe for
// concurrent use.
type Gate struct{ breaker *breaker }

// NewGate returns a closed breaker; zero fields of cfg have defaults. opened counts how
// often it opens; onChange, which may be nil, is called with the old and the new state:
// "closed", "open" or "half-open".
func NewGate(cfg Breaker, opened *telemetry.Counter, onChange func(from, to string)) *Gate {
	cfg.fill()
	return &Gate{newBreaker(cfg, opened, onChange)}
}

// Enter requests a permit for one exchange, which must end with Leave.
func (g *Gate) Enter(now time.Time) (Permit, bool) {
	return g.breaker.acquire(now)
}

// Force is Enter for a request that no other origin can answer. It never refuses, but the
// exchange fails if the Transport that g guards can make no connection at present.
func (g *Gate) Force(now time.Time) Permit { return g.breaker.force(now) }

// Leave ends the exchange of q. f is nil if it was answered.
func (g *Gate) Leave(p Permit, q *Outbound, f *Fault, now time.Time) {
	v, request := verdictOf(f), uint64(0)
	if v == unanswered {
		request = requestHash(q.Method, q.Target, q.Content)
	}
	g.breaker.release(p, v, request, now)
}

// Guard limits the concurrent connection attempts of t while g is not closed and connecting
// fails. It must be called before the first exchange.
func (g *Gate) Guard(t *Transport) { t.pool.guard = g.breaker }

// Unreachable reports whether the origin is known to be down: the breaker is open, or the
// last attempt to connect failed a moment ago. It becomes false with time, so that a node
// which is not sent requests because of it is tried again.
func (g *Gate) Unreachable(now time.Time) bool { return g.breaker.unreachable(now) }

// State returns "closed", "open", "half-open" or "disabled".
func (g *Gate) State(now time.Time) string {
	if g.breaker.cfg.Disabled {
		return "disabled"
	}
	return g.breaker.stateAt(now).String()
}
