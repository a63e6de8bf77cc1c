package transfer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// caller sends requests to an endpoint and repeats them while the store is unavailable or
// throttles.
type caller struct {
	*Endpoint
	send     func(ctx context.Context, operation string, body []byte) ([]byte, error)
	giveUp   time.Duration // since the last success
	retries  *atomic.Int64
	answered atomic.Bool // the endpoint has answered once
}

// throttles are the types of errors that ask for a lower rate.
var throttles = []string{"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "LimitExceededException",
	"ThrottledException"}

// passes reports whether a request may succeed later.
func passes(err error) bool {
	e, ok := errors.AsType[*ServiceError](err)
	return !ok || e.Status >= 500 || e.Status == 429 || slices.Contains(throttles, e.Type) || e.Type == "RequestTimeout"
}

// errorType returns the type of an error of the store, or "" for others.
func errorType(err error) string {
	if e, ok := errors.AsType[*ServiceError](err); ok {
		return e.Type
	}
	return ""
}

// call sends an operation until it has succeeded, or has failed for good. An endpoint that has
// never answered fails at once, because its address may be wrong.
func (c *caller) call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	var b backoff
	for start := time.Now(); ; {
		answer, err := c.send(ctx, operation, body)
		if err == nil || errorType(err) != "" {
			c.answered.Store(true)
		}
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !passes(err) || !c.answered.Load():
			return nil, fmt.Errorf("%s: %w", operation, err)
		case time.Since(start) > c.giveUp:
			return nil, fmt.Errorf("%s: given up after %s: %w", operation, c.giveUp, err)
		}
		c.retries.Add(1)
		if !pause.For(ctx, b.next()) {
			return nil, context.Cause(ctx)
		}
	}
}

// backoff is the number of failures in a row.
type backoff int

// next counts a failure and returns the pause after it: 25 ms at first and up to 6.4 s, each
// up to a quarter shorter or longer.
func (b *backoff) next() time.Duration {
	d := 25 * time.Millisecond << min(int(*b), 8)
	*b++
	return d*3/4 + rand.N(d/2)
}
