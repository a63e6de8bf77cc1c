package origin

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// breaker keeps requests from an origin that fails, and lets a few through from
// time to time to see whether it still does.
//
//	closed --rate of failures--> open --delay--> half-open --probes succeed--> closed
//	                               ^------------a probe fails-----'
//
// A result counts only in the state that its attempt began in (epoch), so that
// what comes late from before an outage does not pass for a probe. An attempt may
// also end without a result, as when the client goes away: its probe's place is
// then free again.
type breaker struct {
	cfg    Breaker
	opened *telemetry.Counter
	moved  func(from, to string) // may be nil; called without the lock

	mu        sync.Mutex // leaf, guards all below
	state     breakerState
	epoch     uint64    // grows with each change of state
	until     time.Time // when open: the time of the first probe
	window    [slices]slice
	probing   int // when half-open: probes under way
	succeeded int // when half-open: probes that succeeded
}

// slices is how many parts the window is counted in; the oldest is dropped whole.
const slices = 10

// slice counts the attempts of a tenth of the window.
type slice struct {
	tick      int64 // which tenth, counted from the zero time
	good, bad int
}

type breakerState uint8

const (
	closed breakerState = iota
	halfOpen
	open
)

func (s breakerState) String() string { return [...]string{"closed", "half-open", "open"}[s] }

// verdict is what an attempt says about the origin.
type verdict uint8

const (
	inconclusive verdict = iota
	healthy
	broken
)

// ticket is the permit for one attempt.
type ticket struct{ epoch uint64 }

func newBreaker(cfg Breaker, opened *telemetry.Counter, moved func(from, to string)) *breaker {
	return &breaker{cfg: cfg, opened: opened, moved: moved}
}

// unlock ends a step that began in state from, and tells what it changed.
func (b *breaker) unlock(from breakerState) {
	to := b.state
	b.mu.Unlock()
	if from != to && b.moved != nil {
		b.moved(from.String(), to.String())
	}
}

// blocks reports whether acquire would refuse now.
func (b *breaker) blocks(now time.Time) bool {
	if b.cfg.Disabled {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.admits(now)
}

func (b *breaker) admits(now time.Time) bool {
	switch b.state {
	case open:
		return !now.Before(b.until)
	case halfOpen:
		return b.probing+b.succeeded < b.cfg.Probes
	}
	return true
}

// acquire asks for one attempt, which must end with release.
func (b *breaker) acquire(now time.Time) (ticket, bool) {
	if b.cfg.Disabled {
		return ticket{}, true
	}
	b.mu.Lock()
	defer b.unlock(b.state)
	if !b.admits(now) {
		return ticket{}, false
	}
	if b.state == open {
		b.change(halfOpen)
		b.probing, b.succeeded = 0, 0
	}
	if b.state == halfOpen {
		b.probing++
	}
	return ticket{b.epoch}, true
}

// release ends the attempt of t.
func (b *breaker) release(t ticket, v verdict, now time.Time) {
	if b.cfg.Disabled {
		return
	}
	b.mu.Lock()
	defer b.unlock(b.state)
	switch {
	case t.epoch != b.epoch:
	case b.state == halfOpen:
		b.probed(v, now)
	case v == healthy:
		b.current(now).good++
	case v == broken:
		b.current(now).bad++
		if b.exceeded(now) {
			b.trip(now)
		}
	}
}

func (b *breaker) probed(v verdict, now time.Time) {
	b.probing--
	switch v {
	case broken:
		b.trip(now)
	case healthy:
		if b.succeeded++; b.succeeded == b.cfg.Probes {
			b.change(closed)
			b.window = [slices]slice{}
		}
	}
}

// trip opens the breaker for its delay, give or take a tenth, so that several
// nodes do not probe at the same moment.
func (b *breaker) trip(now time.Time) {
	b.change(open)
	b.until = now.Add(b.cfg.Delay - b.cfg.Delay/10 + rand.N(b.cfg.Delay/5+1))
	b.opened.Inc()
}

func (b *breaker) change(s breakerState) {
	b.state = s
	b.epoch++
}

// current is the slice of the window to count in now.
func (b *breaker) current(now time.Time) *slice {
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

// exceeded reports whether the rate of failures in the window is too high.
func (b *breaker) exceeded(now time.Time) bool {
	oldest := b.tick(now) - slices + 1
	good, bad := 0, 0
	for i := range b.window {
		if s := &b.window[i]; s.tick >= oldest {
			good += s.good
			bad += s.bad
		}
	}
	all := good + bad
	return all >= b.cfg.MinRequests && float64(bad) >= b.cfg.FailureRate*float64(all)
}

// at is the state at a time: an open breaker whose delay is over counts as half-open.
func (b *breaker) at(now time.Time) breakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == open && b.admits(now) {
		return halfOpen
	}
	return b.state
}
