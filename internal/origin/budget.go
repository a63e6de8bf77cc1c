package origin

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Budget bounds retries by a token bucket: each request adds a fraction of a token, time
// adds a minimum, and a retry takes a whole token. When everything fails, the load of the
// origin therefore grows by that fraction and not by a multiple.
//
// The capacity is the share of a hundred requests and of one second. A Budget is safe for
// concurrent use.
type Budget struct {
	ratio    int64   // millionths of a token per request
	minimum  float64 // millionths of a token per second
	capacity int64

	// tokens is increased by every request without the lock, which may exceed the capacity
	// by concurrent additions. It is decreased, and refilled by time, under mu.
	tokens atomic.Int64
	mu     sync.Mutex // leaf
	filled time.Time  // time up to which tokens were refilled; guarded by mu
}

const token = 1_000_000

// NewBudget returns a full budget. Only the budget fields of r are used; zero ones have
// defaults.
func NewBudget(r Retry, now time.Time) *Budget {
	r.fill()
	b := &Budget{ratio: int64(r.BudgetRatio * token), minimum: r.BudgetMin * token, filled: now}
	b.capacity = 100*b.ratio + int64(b.minimum)
	b.tokens.Store(b.capacity)
	return b
}

// Deposit is called for each request.
func (b *Budget) Deposit() {
	if b.tokens.Load() < b.capacity {
		b.tokens.Add(b.ratio)
	}
}

// Withdraw takes the token for a retry and reports whether there was one.
func (b *Budget) Withdraw(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.tokens.Load() < token {
		return false
	}
	b.tokens.Add(-token)
	return true
}

// available returns the number of retries that could be made at once.
func (b *Budget) available(now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	return float64(b.tokens.Load()) / token
}

// refill adds the tokens for the time since the last refill. The caller holds mu.
func (b *Budget) refill(now time.Time) {
	passed := now.Sub(b.filled).Seconds()
	if passed <= 0 {
		return
	}
	b.filled = now
	room := max(0, b.capacity-b.tokens.Load())
	b.tokens.Add(int64(math.Min(passed*b.minimum, float64(room))))
}

// backoff returns the pause before the nth retry, with full jitter so that clients that
// failed together do not retry together.
func (r *Retry) backoff(n int) time.Duration {
	ceiling := r.Cap
	if doubled := r.Base << (n - 1); n <= 32 && doubled > 0 && doubled < r.Cap {
		ceiling = doubled
	}
	return rand.N(ceiling)
}
