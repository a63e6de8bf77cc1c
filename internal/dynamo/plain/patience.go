package plain

import (
	"context"
	"math/rand/v2"
	"time"
)

// patience is the time that there is for waiting and trying again.
type patience struct {
	ctx   context.Context // ends when the client leaves, too
	until time.Time
}

// reserve is kept of an exchange's time for its answer.
const reserve = 500 * time.Millisecond

// patience is that of the exchange. It is to be called where Serve runs.
func (t *task) patience() patience {
	whole := t.x.Deadline()
	return patience{t.x.Context(), whole.Add(-min(reserve, whole.Sub(t.x.Start())/10))}
}

// over tells whether there is no time left.
func (p *patience) over() bool { return p.ctx.Err() != nil || !time.Now().Before(p.until) }

// sleep pauses, and tells whether there is time left after it. It does not begin a
// pause that would outlast it.
func (p *patience) sleep(pause time.Duration) bool {
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
	firstBound = 50 * time.Millisecond
	lastBound  = 2 * time.Second
)

func (b *backoff) next() time.Duration {
	b.bound = min(max(2*b.bound, firstBound), lastBound)
	return rand.N(b.bound)
}
