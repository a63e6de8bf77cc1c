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
	r       *run
	q       *origin.Outbound // what is sent; a copy if the caller's has a callback
	results chan result
	cancel  map[int]context.CancelFunc // of the exchanges under way
}

// patience is how long the first member is waited for, and false if it is not to be
// hurried.
func (r *run) patience() (time.Duration, bool) {
	h := &r.t.cfg.Hedge
	switch {
	case !h.Enabled || r.asked+2 > r.most() || !r.mayRepeat() || r.q.Content == nil && r.q.Rewind != nil:
		return 0, false
	case h.Delay > 0:
		return h.Delay, true
	}
	return r.g.heads.at(0.95, time.Now())
}

// hedged asks one member, and another one if that takes longer than patience.
func (r *run) hedged(patience time.Duration) {
	h := &hedge{r: r, q: oneAtATime(r.q), results: make(chan result, 2), cancel: map[int]context.CancelFunc{}}
	h.ask(true)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for len(h.cancel) > 0 {
		select {
		case res := <-h.results:
			delete(h.cancel, res.at)
			r.take(res)
			if res.in != nil && !r.failing(res.in) {
				h.withdraw()
			}
		case <-timer.C:
			h.second()
		}
	}
}

// second asks another member if there is one and the budget allows it.
func (h *hedge) second() {
	r := h.r
	switch {
	case !r.another():
	case !r.t.budget.Withdraw(time.Now()):
		r.g.metrics.spent.Inc()
	case h.ask(false):
		r.g.metrics.hedges.Inc()
	}
}

// ask begins an exchange with another member, if one can be asked (see admit).
func (h *hedge) ask(insist bool) bool {
	m, res, pass := h.r.admit(insist)
	if m == nil {
		h.r.take(res)
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

// withdraw cancels the exchange that has lost and waits for its end, which comes at
// once; should it have been answered all the same, nobody wants that.
func (h *hedge) withdraw() {
	for at, cancel := range h.cancel {
		cancel()
		res := <-h.results
		discard(res.in)
		delete(h.cancel, at)
	}
}

// oneAtATime is q with a callback that two goroutines may call.
func oneAtATime(q *origin.Outbound) *origin.Outbound {
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
