package balance

import (
	"context"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// hedge is a request sent to two members.
type hedge struct {
	r       *request
	q       *origin.Outbound // the request; a copy if the caller's has a callback
	results chan result
	cancel  map[int]context.CancelFunc // of the exchanges in flight
}

// hedgeDelay returns the delay before a second member is tried, and false if the request is
// not to be hedged.
func (r *request) hedgeDelay() (time.Duration, bool) {
	h := &r.t.cfg.Hedge
	switch {
	case !h.Enabled || r.attempts+2 > r.maxMembers() || !r.mayRepeat() || r.q.Content == nil && r.q.Rewind != nil:
		return 0, false
	case h.Delay > 0:
		return h.Delay, true
	}
	return r.g.heads.at(0.95, time.Now())
}

// tryHedged tries one member, and a second one if there is no head after delay.
func (r *request) tryHedged(delay time.Duration) {
	h := &hedge{r: r, q: serializeInterim(r.q), results: make(chan result, 2), cancel: map[int]context.CancelFunc{}}
	h.start(true)
	timer := time.NewTimer(delay)
	defer timer.Stop()
	for len(h.cancel) > 0 {
		select {
		case res := <-h.results:
			delete(h.cancel, res.at)
			r.keepBetter(res)
			if res.in != nil && !r.retryStatus(res.in) {
				h.cancelLoser()
			}
		case <-timer.C:
			h.startSecond()
		}
	}
}

// startSecond tries another member if there is one and the budget allows it.
func (h *hedge) startSecond() {
	r := h.r
	switch {
	case !r.hasCandidate():
	case !r.t.budget.Withdraw(time.Now()):
		r.g.metrics.spent.Inc()
	case h.start(false):
		r.g.metrics.hedges.Inc()
	}
}

// start begins an exchange with another member, if there is one (see admit).
func (h *hedge) start(force bool) bool {
	m, res, permit := h.r.admit(force)
	if m == nil {
		h.r.keepBetter(res)
		return false
	}
	ctx, cancel := context.WithCancel(h.r.ctx)
	h.cancel[res.at] = cancel
	go func() {
		res.in, res.f = m.exchange(ctx, h.q, permit, cancel)
		h.results <- res
	}()
	return true
}

// cancelLoser cancels the exchange that has lost and waits for its end, which is immediate.
// Its answer, if any, is discarded.
func (h *hedge) cancelLoser() {
	for at, cancel := range h.cancel {
		cancel()
		res := <-h.results
		discard(res.in)
		delete(h.cancel, at)
	}
}

// serializeInterim returns q with an Interim callback that is safe for two goroutines.
func serializeInterim(q *origin.Outbound) *origin.Outbound {
	f := q.Interim
	if f == nil {
		return q
	}
	var mu sync.Mutex
	locked := *q
	locked.Interim = func(status int, fields http1.Fields) {
		mu.Lock()
		defer mu.Unlock()
		f(status, fields)
	}
	return &locked
}
