package balance

import (
	"context"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/origin"
)

// hedge is one request at two members at once.
type hedge struct {
	r       *request
	q       *origin.Outbound // what is sent; a copy if the caller's has a callback
	results chan result
	cancel  map[int]context.CancelFunc // of the exchanges under way
}

// hedgeDelay is how long the first member is waited for, and false if it is not to be
// hurried.
func (r *request) hedgeDelay() (time.Duration, bool) {
	h := &r.t.cfg.Hedge
	switch {
	case !h.Enabled || r.asked+2 > r.maxMembers() || !r.mayRepeat() || r.q.Content == nil && r.q.Rewind != nil:
		return 0, false
	case h.Delay > 0:
		return h.Delay, true
	}
	return r.g.heads.at(0.95, time.Now())
}

// tryHedged asks one member, and another one if that takes longer than patience.
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

// startSecond asks another member if there is one and the budget allows it.
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

// checkOnce begins an exchange with another member, if one can be asked (see admit).
func (h *hedge) start(force bool) bool {
	m, res, pass := h.r.admit(force)
	if m == nil {
		h.r.keepBetter(res)
		return false
	}
	ctx, cancel := context.WithCancel(h.r.ctx)
	h.cancel[res.at] = cancel
	go func() {
		res.in, res.f = m.exchange(ctx, h.q, pass, cancel)
		h.results <- res
	}()
	return true
}

// cancelLoser cancels the exchange that has lost and waits for its end, which comes at
// once; should it have been answered all the same, nobody wants that.
func (h *hedge) cancelLoser() {
	for at, cancel := range h.cancel {
		cancel()
		res := <-h.results
		discard(res.in)
		delete(h.cancel, at)
	}
}

// serializeInterim is q with a callback that two goroutines may call.
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
