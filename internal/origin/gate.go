package origin

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Gate is the circuit breaker of a Client for those who make their exchanges with a
// Transport. It is safe for concurrent use.
type Gate struct{ breaker *breaker }

// Pass is the permit for one exchange.
type Pass struct{ ticket ticket }

// Verdict is what an exchange says about the origin's health.
type Verdict = verdict

// The verdicts.
const (
	Inconclusive = inconclusive
	Healthy      = healthy
	Broken       = broken
)

// NewGate makes a closed breaker; fields of cfg that are zero mean their defaults.
// opened counts how often it opens; moved, which may be nil, is told "closed", "open"
// and "half-open".
func NewGate(cfg Breaker, opened *telemetry.Counter, moved func(from, to string)) *Gate {
	cfg.fill()
	return &Gate{newBreaker(cfg, opened, moved)}
}

// Enter asks for one exchange, which must end with Leave.
func (g *Gate) Enter(now time.Time) (Pass, bool) {
	t, ok := g.breaker.acquire(now)
	return Pass{t}, ok
}

// Leave ends the exchange.
func (g *Gate) Leave(p Pass, v Verdict, now time.Time) { g.breaker.release(p.ticket, v, now) }

// State is "closed", "open", "half-open" or "disabled".
func (g *Gate) State(now time.Time) string {
	if g.breaker.cfg.Disabled {
		return "disabled"
	}
	return g.breaker.at(now).String()
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
