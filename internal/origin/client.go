package origin

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/pause"
)

// Client sends requests to one origin. It is safe for concurrent use.
type Client struct {
	cfg      Config
	host     []byte // the Host field
	prefix   string // of all paths
	pool     *pool
	budget   *Budget
	breaker  *breaker
	limiter  *limiter
	metrics  *metrics
	inflight atomic.Int64
}

// New validates cfg and returns a client. No connection is made yet.
func New(cfg Config) (*Client, error) {
	at, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	m := newMetrics(cfg.Metrics, cfg.Name)
	c := &Client{
		cfg:     cfg,
		host:    []byte(at.host),
		prefix:  at.prefix,
		pool:    newPool(at, poolConfig{cfg.Timeout, cfg.MaxIdleConns, cfg.IdleTimeout, cfg.TLS}),
		budget:  NewBudget(cfg.Retry, time.Now()),
		breaker: newBreaker(cfg.Breaker, m.opened, cfg.OnBreakerChange),
		limiter: newLimiter(cfg.Concurrency),
		metrics: m,
	}
	c.pool.guard = c.breaker
	c.watch(cfg.Metrics)
	return c, nil
}

// Close closes the idle connections. Requests in flight continue. The metrics are kept,
// since after a reload the next client uses them.
func (c *Client) Close() { c.pool.close() }

// Do sends the request to the origin, and again if that is safe and within the budget. A
// complete answer is returned with a nil error, whatever its status; every other error is a
// *Fault. When attempts, budget or time are exhausted, the result is that of the last
// attempt.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	start := time.Now()
	c.inflight.Add(1)
	defer c.inflight.Add(-1)
	c.budget.Deposit()
	var last outcome
	attempts, reached, spent := 0, false, false
	for {
		o := c.attempt(ctx, r)
		if o.started {
			attempts++
			c.metrics.attempts.Inc()
			if attempts > 1 {
				c.metrics.retries.Inc()
			}
			reached = reached || o.reached()
		}
		if o.started || attempts == 0 {
			last = o // otherwise the earlier result is more informative
		}
		if !o.started || !o.mayRepeat(r) || attempts >= c.cfg.Retry.Attempts {
			break
		}
		now := time.Now()
		if c.breaker.stateAt(now) == open {
			break
		}
		wait := c.cfg.Retry.backoff(attempts)
		if end, ok := ctx.Deadline(); ok && !end.After(now.Add(wait)) {
			break
		}
		if spent = !c.budget.Withdraw(now); spent {
			c.metrics.spent.Inc()
			break
		}
		if !pause.For(ctx, wait) {
			break
		}
	}
	return c.finish(&last, start, attempts, reached, spent)
}

// finish counts a request and returns its result.
func (c *Client) finish(o *outcome, start time.Time, attempts int, reached, spent bool) (*Response, error) {
	took := time.Since(start)
	c.metrics.duration.Observe(took)
	if f := o.fault; f != nil {
		f.Origin, f.Attempts, f.Reached, f.BudgetSpent = c.cfg.Name, attempts, reached, spent
		c.metrics.faulted[f.Kind].Inc()
		return nil, f
	}
	o.response.Attempts, o.response.Duration = attempts, took
	c.metrics.answered[o.response.Class].Inc()
	return o.response, nil
}
