package fluent

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff computes waits between attempts with full jitter, so that clients that lost a
// server together do not reconnect together.
type backoff struct{ base, max time.Duration }

// bound returns the maximum wait after the given number of failures in a row.
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

// wait returns a random wait from 0 to the bound, inclusive.
func (b backoff) wait(failures int) time.Duration {
	return rand.N(b.bound(failures) + 1)
}

// sleep waits for d, or returns ctx's error if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		due, stop := context.WithTimeout(ctx, d)
		defer stop()
		<-due.Done()
	}
	return ctx.Err()
}
