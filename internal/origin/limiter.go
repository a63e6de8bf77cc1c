package origin

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
)

// limiter bounds the concurrent attempts with failsafe-go's adaptive limiter: the limit
// falls when answers slow down as concurrency grows, and rises otherwise.
type limiter struct {
	adaptive adaptivelimiter.AdaptiveLimiter[any]
	maxWait  time.Duration
}

// newLimiter returns nil if the limit is disabled; a nil limiter admits everything.
func newLimiter(cfg Concurrency) *limiter {
	if cfg.Disabled {
		return nil
	}
	b := adaptivelimiter.NewBuilder[any]().
		WithLimits(uint(cfg.Min), uint(cfg.Max), uint(cfg.Initial)).
		WithMaxLimitFunc(func(inflight int) float64 { return max(float64(cfg.Initial), 5*float64(inflight)) }).
		WithMaxLimitStabilizationWindow(time.Minute)
	l := &limiter{maxWait: cfg.MaxWait}
	if cfg.Queue < 0 {
		l.maxWait = 0
	} else {
		b = b.WithQueueing(max(1, cfg.Queue), max(1, 2*cfg.Queue)).WithMaxWaitTime(cfg.MaxWait)
	}
	l.adaptive = b.Build()
	return l
}

// acquire waits for a place as long as the queue allows. The permit is nil if there is no
// limit.
func (l *limiter) acquire(ctx context.Context) (adaptivelimiter.Permit, error) {
	if l == nil {
		return nil, nil
	}
	return l.adaptive.AcquirePermitWithMaxWait(ctx, l.maxWait)
}

// release returns the place. Only an attempt whose duration indicates the origin's load is
// measured: an early refusal or a broken connection would look fast.
func release(p adaptivelimiter.Permit, timed bool) {
	switch {
	case p == nil:
	case timed:
		p.Record()
	default:
		p.Drop()
	}
}

func (l *limiter) limit() int {
	if l == nil {
		return 0
	}
	return l.adaptive.Limit()
}

func (l *limiter) queued() int {
	if l == nil {
		return 0
	}
	return l.adaptive.Queued()
}
