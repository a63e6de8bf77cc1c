package origin

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// breaker is the circuit breaker of an origin. While it is open, requests that another
// origin can answer are sent there, except for a few probes from time to time.
//
//	closed --rate of failures--> open --delay--> half-open --probes succeed--> closed
//	                               ^------------a probe fails-----'
//
// A failure is evidence against the origin itself: no connection could be made, or several
// different requests were not answered in time. A connection that ends without an answer,
// and an invalid answer, may be caused by the single request and count as neither.
//
// A request that no other origin can answer is always admitted (force), because refusing it
// would turn the failure of some requests into an outage of all. Its result counts like a
// probe's. Such requests are only prevented from waiting for connections that can't be made:
// see beginConnecting.
//
// A result counts only in the state in which its attempt began (epoch), so that late results
// from before an outage are not mistaken for probes. An attempt may also end without a
// result, for example when the client disconnects: the place of its probe is then free
// again.
type breaker struct {
	cfg      Breaker
	opened   *telemetry.Counter
	onChange func(from, to string) // may be nil; called without the lock

	mu         sync.Mutex // leaf, guards all fields below
	state      breakerState
	epoch      uint64    // incremented with each change of state
	until      time.Time // when open: the time of the first probe
	window     [slices]slice
	unanswered [minUnanswered]unansweredRequest
	probes     int // when half-open: probes in flight
	succeeded  int // unless closed: successes since the last failure

	connecting    int  // attempts to connect in progress
	connectFailed bool // the last attempt to connect failed

	// downUntil is the time until which the origin counts as down because a connection could
	// not be made. An answer or a connection clears it.
	downUntil time.Time
}

// slices is the number of slices of the window; the oldest is dropped as a whole.
const slices = 10

// slice counts the attempts of a slice of the window.
type slice struct {
	tick                          int64 // number of the slice since the zero time
	good, unreachable, unanswered int
}

// minUnanswered is the number of different requests within the window that must time out
// before timeouts count against the origin.
const minUnanswered = 3

// unansweredRequest is a request that was not answered in time. The breaker keeps the latest
// different ones.
type unansweredRequest struct {
	request uint64 // requestHash
	tick    int64
}

type breakerState uint8

const (
	closed breakerState = iota
	halfOpen
	open
)

func (s breakerState) String() string { return [...]string{"closed", "half-open", "open"}[s] }

// verdict is the evidence that an attempt gives about the origin.
type verdict uint8

const (
	inconclusive verdict = iota
	healthy              // it answered
	unreachable          // no connection could be made
	unanswered           // no answer arrived in time
)

// verdictOf returns the verdict of an attempt. f is nil if it was answered.
func verdictOf(f *Fault) verdict {
	switch {
	case f == nil:
		return healthy
	case f.Kind == Dial, f.Kind == Timeout && !f.Reached:
		return unreachable
	case f.Kind == Timeout:
		return unanswered
	}
	return inconclusive
}

// A Permit allows one attempt.
type Permit struct {
	epoch uint64
	probe bool // it holds one of the places of half-open
}

func newBreaker(cfg Breaker, opened *telemetry.Counter, onChange func(from, to string)) *breaker {
	return &breaker{cfg: cfg, opened: opened, onChange: onChange}
}

// unlock releases the lock and reports a change since state from.
func (b *breaker) unlock(from breakerState) {
	to := b.state
	b.mu.Unlock()
	if from != to && b.onChange != nil {
		b.onChange(from.String(), to.String())
	}
}

func (b *breaker) admits(now time.Time) bool {
	switch b.state {
	case open:
		return !now.Before(b.until)
	case halfOpen:
		return b.probes+b.succeeded < b.cfg.Probes
	}
	return true
}

// acquire requests a permit for one attempt, which must end with release.
func (b *breaker) acquire(now time.Time) (Permit, bool) { return b.enter(now, false) }

// force is acquire for a request that no other origin can answer.
func (b *breaker) force(now time.Time) Permit {
	t, _ := b.enter(now, true)
	return t
}

func (b *breaker) enter(now time.Time, always bool) (Permit, bool) {
	if b.cfg.Disabled {
		return Permit{}, true
	}
	b.mu.Lock()
	defer b.unlock(b.state)
	admitted := b.admits(now)
	if admitted && b.state == open {
		b.change(halfOpen)
		b.probes, b.succeeded = 0, 0
	}
	probe := admitted && b.state == halfOpen
	if probe {
		b.probes++
	}
	return Permit{b.epoch, probe}, admitted || always
}

// release ends the attempt of t. request is its requestHash.
func (b *breaker) release(t Permit, v verdict, request uint64, now time.Time) {
	if b.cfg.Disabled {
		return
	}
	b.mu.Lock()
	defer b.unlock(b.state)
	if t.epoch != b.epoch {
		return
	}
	s := b.currentSlice(now)
	switch v {
	case healthy:
		s.good++
		b.downUntil = time.Time{}
	case unreachable:
		s.unreachable++
	case unanswered:
		s.unanswered++
		b.noteUnanswered(unansweredRequest{request, s.tick})
	}
	if b.state != closed {
		b.endProbe(t, v, now)
	} else if v != healthy && b.exceeded(now) {
		b.trip(now)
	}
}

// endProbe records an attempt that began while the breaker was not closed.
func (b *breaker) endProbe(t Permit, v verdict, now time.Time) {
	if t.probe {
		b.probes--
	}
	switch {
	case v == unreachable, v == unanswered && b.manyUnanswered(now):
		b.trip(now)
	case v == healthy:
		if b.succeeded++; b.succeeded >= b.cfg.Probes {
			b.change(closed)
			b.window, b.unanswered = [slices]slice{}, [minUnanswered]unansweredRequest{}
		}
	}
}

// trip opens the breaker for its delay, within a tenth, so that several nodes do not probe
// at the same moment.
func (b *breaker) trip(now time.Time) {
	if b.state != open {
		b.change(open)
		b.opened.Inc()
	}
	b.succeeded = 0
	b.until = now.Add(b.cfg.Delay - b.cfg.Delay/10 + rand.N(b.cfg.Delay/5+1))
}

func (b *breaker) change(s breakerState) {
	b.state = s
	b.epoch++
}

// currentSlice returns the slice of the window for now.
func (b *breaker) currentSlice(now time.Time) *slice {
	tick := b.tick(now)
	s := &b.window[tick%slices]
	if s.tick != tick {
		*s = slice{tick: tick}
	}
	return s
}

func (b *breaker) tick(now time.Time) int64 {
	return now.UnixNano() / max(1, int64(b.cfg.Window)/slices)
}

// noteUnanswered records a request that was not answered in time. It replaces the oldest one
// unless the request was recorded before.
func (b *breaker) noteUnanswered(s unansweredRequest) {
	oldest := 0
	for i := range b.unanswered {
		if b.unanswered[i].request == s.request {
			oldest = i
			break
		}
		if b.unanswered[i].tick < b.unanswered[oldest].tick {
			oldest = i
		}
	}
	b.unanswered[oldest] = s
}

// manyUnanswered reports whether minUnanswered different requests were not answered in time
// within the window.
func (b *breaker) manyUnanswered(now time.Time) bool {
	oldest := b.tick(now) - slices + 1
	for _, s := range b.unanswered {
		if s.tick < oldest {
			return false
		}
	}
	return true
}

// exceeded reports whether the rate of failures in the window is too high.
func (b *breaker) exceeded(now time.Time) bool {
	oldest, silentCount := b.tick(now)-slices+1, b.manyUnanswered(now)
	good, bad := 0, 0
	for i := range b.window {
		if s := &b.window[i]; s.tick >= oldest {
			good += s.good
			bad += s.unreachable
			if silentCount {
				bad += s.unanswered
			}
		}
	}
	all := good + bad
	return bad > 0 && all >= b.cfg.MinRequests && float64(bad) >= b.cfg.FailureRate*float64(all)
}

// beginConnecting requests to make a connection, which must end with endConnecting. It
// refuses if the breaker is not closed, the last attempt to connect failed, and the maximum
// number of probes is connecting already: the request would only wait for a connection that
// can't be made.
func (b *breaker) beginConnecting() bool {
	if b == nil || b.cfg.Disabled {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != closed && b.connectFailed && b.connecting >= b.cfg.Probes {
		return false
	}
	b.connecting++
	return true
}

// endConnecting ends an attempt to connect. canceled means that the caller cancelled it.
func (b *breaker) endConnecting(err error, canceled bool) {
	if b == nil || b.cfg.Disabled {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connecting--
	if err == nil || !canceled {
		b.connectFailed = err != nil
	}
	switch {
	case err == nil:
		b.downUntil = time.Time{}
	case !canceled:
		b.downUntil = time.Now().Add(b.cfg.Delay)
	}
}

// unreachable reports whether the origin is known to be down: the breaker is open, or the
// last attempt to connect failed a moment ago and nothing was answered since.
func (b *breaker) unreachable(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state == open && !b.admits(now) || now.Before(b.downUntil)
}

// stateAt returns the state at a time: an open breaker whose delay is over counts as
// half-open.
func (b *breaker) stateAt(now time.Time) breakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == open && b.admits(now) {
		return halfOpen
	}
	return b.state
}
