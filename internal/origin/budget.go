package origin

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// budget bounds retries by a token bucket: a request puts a share of a token in,
// time puts a minimum in, a retry takes a whole one out. When everything fails,
// the origin thus sees the requests and that share more, not a multiple.
//
// At most what a hundred requests and one second put in is saved up.
type budget struct {
	ratio    int64   // millionths of a token for a request
	minimum  float64 // millionths of a token for a second
	capacity int64

	// tokens is added to by every request without the lock, which may go over the
	// capacity by what was added at the same moment. It is taken from and refilled
	// by time under mu.
	tokens atomic.Int64
	mu     sync.Mutex // leaf
	filled time.Time  // until when time's share is in; guarded by mu
}

const token = 1_000_000

func newBudget(r Retry, now time.Time) *budget {
	b := &budget{ratio: int64(r.BudgetRatio * token), minimum: r.BudgetMin * token, filled: now}
	b.capacity = 100*b.ratio + int64(b.minimum)
	b.tokens.Store(b.capacity)
	return b
}

// deposit is called for each request.
func (b *budget) deposit() {
	if b.tokens.Load() < b.capacity {
		b.tokens.Add(b.ratio)
	}
}

// withdraw takes the token for one retry, or reports that there is none.
func (b *budget) withdraw(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	if b.tokens.Load() < token {
		return false
	}
	b.tokens.Add(-token)
	return true
}

// available is how many retries could be made at once.
func (b *budget) available(now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill(now)
	return float64(b.tokens.Load()) / token
}

// refill adds time's share. The caller holds mu.
func (b *budget) refill(now time.Time) {
	passed := now.Sub(b.filled).Seconds()
	if passed <= 0 {
		return
	}
	b.filled = now
	room := max(0, b.capacity-b.tokens.Load())
	b.tokens.Add(int64(math.Min(passed*b.minimum, float64(room))))
}

// backoff is the pause before the nth retry: full jitter, so that clients that
// failed together do not come back together.
func (r *Retry) backoff(n int) time.Duration {
	ceiling := r.Cap
	if doubled := r.Base << (n - 1); n <= 32 && doubled > 0 && doubled < r.Cap {
		ceiling = doubled
	}
	return rand.N(ceiling)
}

// pause waits for d. It reports false when ctx was done before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
