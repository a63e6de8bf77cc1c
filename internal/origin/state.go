package origin

import (
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// State is a snapshot of a Client for reports.
type State struct {
	// Breaker is "closed", "open", "half-open" or "disabled".
	Breaker string
	// Unreachable is the result of Gate.Unreachable.
	Unreachable bool
	// Limit is the current concurrency limit, 0 without one.
	Limit int
	// InFlight is the number of requests in Do, including the ones that wait before a retry.
	InFlight int
	// Queued is the number of requests that wait for the concurrency limit.
	Queued int
	// Requests, Attempts and Retries are totals. They continue over a reload.
	Requests, Attempts, Retries uint64
	// Budget is the number of retries that the budget allows at once now.
	Budget float64
}

// State returns the client's current state.
func (c *Client) State() State {
	now := time.Now()
	s := State{
		Breaker:  "disabled",
		Limit:    c.limiter.limit(),
		InFlight: int(c.inflight.Load()),
		Queued:   c.limiter.queued(),
		Requests: c.metrics.requests(),
		Attempts: c.metrics.attempts.Value(),
		Retries:  c.metrics.retries.Value(),
		Budget:   c.budget.available(now),
	}
	if !c.cfg.Breaker.Disabled {
		s.Breaker = c.breaker.stateAt(now).String()
		s.Unreachable = c.breaker.unreachable(now)
	}
	return s
}

// metrics are the series of one origin.
type metrics struct {
	// answered and faulted count the requests by outcome.
	answered [Failed + 1]*telemetry.Counter
	faulted  [kinds]*telemetry.Counter
	attempts *telemetry.Counter
	retries  *telemetry.Counter
	// spent counts retries that the budget did not allow.
	spent    *telemetry.Counter
	opened   *telemetry.Counter
	duration *telemetry.Histogram
}

func newMetrics(r *telemetry.Registry, name string) *metrics {
	m := &metrics{
		attempts: r.Counter("kasoku_origin_attempts_total", "Requests sent to the origin, retries included.", "service", name),
		retries:  r.Counter("kasoku_origin_retries_total", "Attempts that repeated a failed one. A steady share means an origin that is failing or throttling.", "service", name),
		spent:    r.Counter("kasoku_origin_retry_budget_spent_total", "Retries that the budget did not allow. Growing numbers mean an outage rather than single failures.", "service", name),
		opened:   r.Counter("kasoku_origin_breaker_opened_total", "Times the circuit breaker opened because the origin failed too often.", "service", name),
		duration: r.Histogram("kasoku_origin_request_duration_seconds", "Time spent on a request to the origin, with all attempts, pauses and queueing.", "service", name),
	}
	const help = "Requests to the origin by outcome: the class of the answer, or the kind of the fault without a complete answer."
	for c := range m.answered {
		m.answered[c] = r.Counter("kasoku_origin_requests_total", help, "service", name, "outcome", Class(c).String())
	}
	for k := range m.faulted {
		m.faulted[k] = r.Counter("kasoku_origin_requests_total", help, "service", name, "outcome", FaultKind(k).String())
	}
	return m
}

// watch registers gauges of the current state of c.
func (c *Client) watch(r *telemetry.Registry) {
	r.Gauge("kasoku_origin_breaker_state", "State of the circuit breaker: 0 closed, 1 half-open, 2 open.",
		func() float64 { return float64(c.breaker.stateAt(time.Now())) }, "service", c.cfg.Name)
	r.Gauge("kasoku_origin_inflight", "Requests to the origin in flight, including those waiting before a retry.",
		func() float64 { return float64(c.inflight.Load()) }, "service", c.cfg.Name)
	r.Gauge("kasoku_origin_queued", "Requests waiting for the concurrency limit. Above zero for long means that the origin is the bottleneck.",
		func() float64 { return float64(c.limiter.queued()) }, "service", c.cfg.Name)
	r.Gauge("kasoku_origin_concurrency_limit", "Present limit of attempts under way at the origin; 0 without a limit.",
		func() float64 { return float64(c.limiter.limit()) }, "service", c.cfg.Name)
}

// requests returns the number of completed requests.
func (m *metrics) requests() (n uint64) {
	for _, c := range m.answered {
		n += c.Value()
	}
	for _, c := range m.faulted {
		n += c.Value()
	}
	return n
}
