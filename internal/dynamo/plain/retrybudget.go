package plain

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// retryBudget is the time available for waiting and retries.
type retryBudget struct {
	ctx   context.Context // also done when the client disconnects
	until time.Time
}

// replyReserve is the part of an exchange's time that is reserved for its reply.
const replyReserve = 500 * time.Millisecond

// retryBudget returns the exchange's budget. It must be called from the goroutine of Serve.
func (t *task) retryBudget() retryBudget {
	whole := t.x.Deadline()
	return retryBudget{t.x.Context(), whole.Add(-min(replyReserve, whole.Sub(t.x.Start())/10))}
}

// exhausted reports whether no time is left.
func (p *retryBudget) exhausted() bool { return p.ctx.Err() != nil || !time.Now().Before(p.until) }

// sleep pauses and reports whether time is left afterwards. It returns false at once if the
// pause would exceed the budget.
func (p *retryBudget) sleep(d time.Duration) bool {
	return time.Now().Add(d).Before(p.until) && pause.For(p.ctx, d) && p.ctx.Err() == nil
}

// backoff yields the pauses between retries: random up to a bound that doubles, so that
// concurrent retries don't coincide.
type backoff struct{ bound time.Duration }

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

func (b *backoff) next() time.Duration {
	b.bound = min(max(2*b.bound, minBackoff), maxBackoff)
	return rand.N(b.bound)
}
