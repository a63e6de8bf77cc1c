package origin

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Gate is the circuit breaker of a Client for those who make their exchanges with a
// Transport. It is safe for concurrent use.
type Gate struct{ breaker *breaker }

// Permit is the permit for one exchange.
type Permit struct{ permit permit }

// NewGate makes a closed breaker; fields of cfg that are zero mean their defaults.
// opened counts how often it opens; moved, which may be nil, is told "closed", "open"
// and "half-open".
func NewGate(cfg Breaker, opened *telemetry.Counter, moved func(from, to string)) *Gate {
	cfg.fill()
	return &Gate{newBreaker(cfg, opened, moved)}
}

// Enter asks for one exchange, which must end with Leave.
func (g *Gate) Enter(now time.Time) (Permit, bool) {
	t, ok := g.breaker.acquire(now)
	return Permit{t}, ok
}

// Force is Enter for a request that no other origin can answer. It is never refused,
// but its exchange is if the Transport that g guards can make no connection at present.
func (g *Gate) Force(now time.Time) Permit { return Permit{g.breaker.force(now)} }

// Leave ends the exchange of q. f is nil if it was answered.
func (g *Gate) Leave(p Permit, q *Outbound, f *Fault, now time.Time) {
	v, request := verdictOf(f), uint64(0)
	if v == unanswered {
		request = requestHash(q.Method, q.Target, q.Content)
	}
	g.breaker.release(p.permit, v, request, now)
}

// Guard bounds the connections of t that are made at a time while g is not closed and
// none can be made. It must be called before the first exchange.
func (g *Gate) Guard(t *Transport) { t.pool.guard = g.breaker }

// Unreachable reports whether the origin is known to be down: the breaker is open, or the
// last attempt to connect failed a moment ago. It becomes false with time, so that a node
// which gets no requests while it is not ready is asked again.
func (g *Gate) Unreachable(now time.Time) bool { return g.breaker.unreachable(now) }

// State is "closed", "open", "half-open" or "disabled".
func (g *Gate) State(now time.Time) string {
	if g.breaker.cfg.Disabled {
		return "disabled"
	}
	return g.breaker.stateAt(now).String()
}

// Budget bounds retries as that of a Client does. It is safe for concurrent use.
type Budget struct{ budget *budget }

// NewBudget makes a full budget. Of r only the fields of the budget count; those that
// are zero mean their defaults.
func NewBudget(r Retry, now time.Time) *Budget {
	r.fill()
	return &Budget{newBudget(r, now)}
}

// Deposit is called for each request.
func (b *Budget) Deposit() { b.budget.deposit() }

// Withdraw takes what one retry costs, or reports that there is not enough.
func (b *Budget) Withdraw(now time.Time) bool { return b.budget.withdraw(now) }
