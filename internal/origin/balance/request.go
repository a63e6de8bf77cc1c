package balance

import (
	"context"
	"slices"
	"time"

	"github.com/kasoku/kasoku/internal/origin"
)

// request is a request on its way through the group. It belongs to one goroutine.
type request struct {
	g      *Group
	t      *table
	ctx    context.Context
	q      *origin.Outbound
	choice *Choice

	tried    []int // members that were tried; in admit, also members that refused
	space    [8]int
	attempts int // number of members tried
	// reached is set if a member may have executed the request.
	reached bool
	result  // the best so far
}

// do tries one member after the other.
func (r *request) do() {
	for {
		if delay, ok := r.hedgeDelay(); ok {
			r.tryHedged(delay)
		} else {
			r.tryMember()
		}
		r.hold()
		if r.attempts >= r.maxMembers() || !r.shouldRetry() || !r.hasCandidate() || !r.payForRetry() {
			break
		}
		r.g.metrics.retries.Inc()
	}
	if r.f != nil {
		r.f.Reached, r.f.Attempts = r.reached, r.attempts
	}
}

// hold reads the body of an answer ahead, as far as the choice requests it.
func (r *request) hold() {
	if r.choice.Hold.Bytes <= 0 || r.in == nil || r.retryStatus(r.in) || !r.mayRepeat() {
		return
	}
	if f := r.in.Hold(r.choice.Hold); f != nil {
		discard(r.in)
		r.result = result{at: r.at, f: f}
	}
}

// maxMembers returns the maximum number of members to try.
func (r *request) maxMembers() int {
	if r.choice.Attempts > 0 {
		return r.choice.Attempts
	}
	return r.t.cfg.Retry.Attempts
}

// mayRepeat reports whether several members may execute the request.
func (r *request) mayRepeat() bool { return r.q.Idempotent() && r.q.Replayable() }

// result is the result of an exchange with a member: an answer or a fault.
type result struct {
	at int // the member's index
	in *origin.Inbound
	f  *origin.Fault
}

// tryMember tries one member.
func (r *request) tryMember() {
	m, res, permit := r.admit(true)
	if m != nil {
		res.in, res.f = r.awaitHead(m, permit)
	}
	r.keepBetter(res)
}

// keepBetter replaces the result by res unless res is less informative: an answer outranks a
// fault, and a fault outranks the refusal of a breaker.
func (r *request) keepBetter(res result) {
	if res.at < 0 && r.attempts > 0 || res.f != nil && res.f.Kind == origin.BreakerOpen && (r.in != nil || r.f != nil) {
		return
	}
	r.reached = r.reached || res.f == nil || res.f.Reached
	if res.in == nil && r.in != nil {
		return
	}
	discard(r.in)
	r.result = res
}

// admit chooses a member whose breaker admits the request. If all refuse it and force is
// set, the first choice is used nevertheless: without an alternative, a refusal would only
// add to the failures. If there is no member the result is a fault.
func (r *request) admit(force bool) (*member, result, origin.Permit) {
	now, tried, first := time.Now(), len(r.tried), -1
	for {
		i := r.pick(now)
		if i < 0 {
			break
		}
		if permit, ok := r.t.members[i].gate.Enter(now); ok {
			return r.admitted(i, tried, permit)
		}
		r.tried = append(r.tried, i)
		if first < 0 {
			first = i
		}
	}
	if first >= 0 && force {
		r.g.metrics.panics.Inc()
		return r.admitted(first, tried, r.t.members[first].gate.Force(now))
	}
	r.tried = r.tried[:tried]
	f := &origin.Fault{Origin: r.t.cfg.Name, Kind: origin.BreakerOpen, Err: ErrNone}
	return nil, result{at: -1, f: f}, origin.Permit{}
}

// admitted records that member i is tried. Members in r.tried after the first tried ones
// have refused the request; a retry may choose them again.
func (r *request) admitted(i, tried int, permit origin.Permit) (*member, result, origin.Permit) {
	r.tried = append(r.tried[:tried], i)
	r.attempts++
	return r.t.members[i], result{at: i}, permit
}

// shouldRetry reports whether a retry at another member is useful and safe.
func (r *request) shouldRetry() bool {
	switch {
	case r.attempts == 0 || r.ctx.Err() != nil:
		return false
	case r.in != nil:
		return r.retryStatus(r.in) && r.mayRepeat()
	case r.f.Kind == origin.Canceled || r.f.Kind == origin.Unprepared || r.f.Kind == origin.Withheld:
		return false
	}
	return !r.reached || r.mayRepeat()
}

// hasCandidate reports whether there is a member left to try.
func (r *request) hasCandidate() bool {
	var space [8]int
	cands, _ := r.candidates(space[:0], time.Now())
	return len(cands) > 0
}

// retryStatus reports whether the status of an answer is one of Retry.Statuses.
func (r *request) retryStatus(in *origin.Inbound) bool {
	return slices.Contains(r.t.cfg.Retry.Statuses, in.Status)
}

// payForRetry takes the cost of a retry, if any, from the budget.
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

// discard ends an exchange whose answer is not used.
func discard(in *origin.Inbound) {
	if in != nil {
		in.Close()
	}
}
