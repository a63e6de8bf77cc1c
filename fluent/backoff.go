package fluent

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff spreads attempts over time with full jitter: clients that lost a
// server together do not come back together.
type backoff struct{ base, max time.Duration }

// bound is the longest wait after so many failures in a row.
func (b backoff) bound(failures int) time.Duration {
	d := b.base
	for range failures - 1 {
		if d >= b.max/2 {
			return b.max
		}
		d *= 2
	}
	return min(d, b.max)
}

// wait draws a wait, from 0 up to and with the bound.
func (b backoff) wait(failures int) time.Duration {
	return rand.N(b.bound(failures) + 1)
}

// sleep waits for d, or until ctx ends: it returns ctx's error then.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		due, stop := context.WithTimeout(ctx, d)
		defer stop()
		<-due.Done()
	}
	return ctx.Err()
}
