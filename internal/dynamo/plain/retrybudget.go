package plain

import (
	"context"
	"math/rand/v2"
	"time"
)

// retryBudget is the time that there is for waiting and trying again.
type retryBudget struct {
	ctx   context.Context // ends when the client leaves, too
	until time.Time
}

// replyReserve is kept of an exchange's time for its answer.
const replyReserve = 500 * time.Millisecond

// retryBudget is that of the exchange. It is to be called where Serve runs.
func (t *task) retryBudget() retryBudget {
	whole := t.x.Deadline()
	return retryBudget{t.x.Context(), whole.Add(-min(replyReserve, whole.Sub(t.x.Start())/10))}
}

// exhausted tells whether there is no time left.
func (p *retryBudget) exhausted() bool { return p.ctx.Err() != nil || !time.Now().Before(p.until) }

// sleep pauses, and tells whether there is time left after it. It does not begin a
// pause that would outlast it.
func (p *retryBudget) sleep(pause time.Duration) bool {
	if !time.Now().Add(pause).Before(p.until) {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.ctx.Err() == nil
	case <-p.ctx.Done():
		return false
	}
}

// backoff is the pauses between tries: each random up to a bound that doubles, so
// that those who wait for the same thing do not come back together.
type backoff struct{ bound time.Duration }

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

func (b *backoff) next() time.Duration {
	b.bound = min(max(2*b.bound, minBackoff), maxBackoff)
	return rand.N(b.bound)
}
