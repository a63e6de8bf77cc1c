package balance

import (
	"context"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// request is one request on its way through the group. It belongs to one goroutine.
type request struct {
	g      *Group
	t      *table
	ctx    context.Context
	q      *origin.Outbound
	choice *Choice

	tried []int // members that were asked; in admit, also those that refused
	space [8]int
	asked int // members
	// reached says that a member may have executed the request.
	reached bool
	result  // the best so far
}

// do asks one member after the other.
func (r *request) do() {
	for {
		if delay, ok := r.hedgeDelay(); ok {
			r.tryHedged(delay)
		} else {
			r.tryMember()
		}
		r.hold()
		if r.asked >= r.maxMembers() || !r.shouldRetry() || !r.hasCandidate() || !r.payForRetry() {
			break
		}
		r.g.metrics.retries.Inc()
	}
	if r.f != nil {
		r.f.Reached, r.f.Attempts = r.reached, r.asked
	}
}

// hold reads the body of an answer ahead, as far as the request asks for that.
func (r *request) hold() {
	if r.choice.Hold.Bytes <= 0 || r.in == nil || r.retryStatus(r.in) || !r.mayRepeat() {
		return
	}
	if f := r.in.Hold(r.choice.Hold); f != nil {
		discard(r.in)
		r.result = result{at: r.at, f: f}
	}
}

// maxMembers is how many members may be asked.
func (r *request) maxMembers() int {
	if r.choice.Attempts > 0 {
		return r.choice.Attempts
	}
	return r.t.cfg.Retry.Attempts
}

// mayRepeat says whether several members may execute the request.
func (r *request) mayRepeat() bool { return r.q.Idempotent() && r.q.Replayable() }

// result is what an exchange with a member came to: an answer or a fault.
type result struct {
	at int // the member
	in *origin.Inbound
	f  *origin.Fault
}

// tryMember asks one member.
func (r *request) tryMember() {
	m, res, pass := r.admit(true)
	if m != nil {
		res.in, res.f = r.awaitHead(m, pass)
	}
	r.keepBetter(res)
}

// keepBetter takes a result in. What an earlier member said is kept if this one says less:
// an answer is more than a fault, and a fault more than that nobody could be asked.
func (r *request) keepBetter(res result) {
	if res.at < 0 && r.asked > 0 || res.f != nil && res.f.Kind == origin.BreakerOpen && (r.in != nil || r.f != nil) {
		return
	}
	r.reached = r.reached || res.f == nil || res.f.Reached
	if res.in == nil && r.in != nil {
		return
	}
	discard(r.in)
	r.result = res
}

// admit chooses a member whose breaker admits the request. If all refuse it and insist
// is set, the first choice gets it all the same: with no other member to ask, a refusal
// would only add to what fails. Without a member the result is a fault.
func (r *request) admit(force bool) (*member, result, origin.Permit) {
	now, asked, first := time.Now(), len(r.tried), -1
	for {
		i := r.pick(now)
		if i < 0 {
			break
		}
		if pass, ok := r.t.members[i].gate.Enter(now); ok {
			return r.admitted(i, asked, pass)
		}
		r.tried = append(r.tried, i)
		if first < 0 {
			first = i
		}
	}
	if first >= 0 && force {
		r.g.metrics.panics.Inc()
		return r.admitted(first, asked, r.t.members[first].gate.Force(now))
	}
	r.tried = r.tried[:asked]
	f := &origin.Fault{Origin: r.t.cfg.Name, Kind: origin.BreakerOpen, Err: ErrNone}
	return nil, result{at: -1, f: f}, origin.Permit{}
}

// admitted notes that member i is asked. Those behind the first asked ones of r.tried
// have refused the request; a retry may come back to them.
func (r *request) admitted(i, asked int, pass origin.Permit) (*member, result, origin.Permit) {
	r.tried = append(r.tried[:asked], i)
	r.asked++
	return r.t.members[i], result{at: i}, pass
}

// shouldRetry says whether another member should and may be asked.
func (r *request) shouldRetry() bool {
	switch {
	case r.asked == 0 || r.ctx.Err() != nil:
		return false
	case r.in != nil:
		return r.retryStatus(r.in) && r.mayRepeat()
	case r.f.Kind == origin.Canceled || r.f.Kind == origin.Unprepared:
		return false
	}
	return !r.reached || r.mayRepeat()
}

// hasCandidate says whether there is one to ask.
func (r *request) hasCandidate() bool {
	var space [8]int
	cands, _ := r.candidates(space[:0], time.Now())
	return len(cands) > 0
}

// retryStatus says whether an answer is one that another member may do better than.
func (r *request) retryStatus(in *origin.Inbound) bool {
	return slices.Contains(r.t.cfg.Retry.Statuses, in.Status)
}

// payForRetry pays for a retry if it costs anything.
func (r *request) payForRetry() bool {
	if r.in == nil && (unreachable(r.f) || r.f.Kind == origin.BreakerOpen) || r.t.budget.Withdraw(time.Now()) {
		return true
	}
	r.g.metrics.spent.Inc()
	if r.f != nil {
		r.f.BudgetSpent = true
	}
	return false
}

// discard ends an exchange whose answer nobody wants.
func discard(in *origin.Inbound) {
	if in != nil {
		in.Close()
	}
}
