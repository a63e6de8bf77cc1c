package memcached

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the service's counters. Counters with reasons are made at their first use.
type metrics struct {
	registry   *telemetry.Registry
	service    string
	requests   [64]atomic.Pointer[telemetry.Counter] // by Reason
	wraps      [32]atomic.Pointer[telemetry.Counter] // by jsonp.Reason
	stores     []*telemetry.Counter                  // by Outcome
	renewed    *telemetry.Counter
	unrenewed  *telemetry.Counter
	byDecision []*telemetry.Counter // by telemetry.Decision, for the report
}

func newMetrics(r *telemetry.Registry, service string) *metrics {
	m := &metrics{registry: r, service: service}
	for i := range Outcomes {
		m.stores = append(m.stores, r.Counter("kasoku_memcached_fallback_stores_total",
			"Answers of fallbacks to be stored in memcached, by outcome; memcached.md has the outcomes.",
			"service", service, "outcome", Outcome(i).String()))
	}
	renewal := func(outcome string) *telemetry.Counter {
		return r.Counter("kasoku_memcached_renewals_total",
			"Values past their ttl that this process had to renew, by outcome: renewed, or failed, after which they are still served until their stale time ends.",
			"service", service, "outcome", outcome)
	}
	m.renewed, m.unrenewed = renewal("renewed"), renewal("failed")
	for range telemetry.Decisions {
		m.byDecision = append(m.byDecision, telemetry.NewCounter())
	}
	return m
}

// answered counts how a request was answered, or why memcached had no value for it.
func (m *metrics) answered(why Reason) {
	m.byDecision[why.Info().Decision].Inc()
	m.inc(&m.requests[why], why.String(), "kasoku_memcached_requests_total",
		"Requests by how they were answered from memcached, or why they were not; memcached.md has the reasons.")
}

// forwarded counts how a request was answered by a fallback, and why.
func (m *metrics) forwarded(why Reason, d telemetry.Decision) {
	m.byDecision[d].Inc()
	m.inc(&m.requests[why], why.String(), "kasoku_memcached_requests_total",
		"Requests by how they were answered from memcached, or why they were not; memcached.md has the reasons.")
}

// wrapped counts the outcome for a callback whose answer was made of a value.
func (m *metrics) wrapped(why jsonp.Reason) {
	m.inc(&m.wraps[why], why.String(), "kasoku_memcached_jsonp_total",
		"Requests that name a callback and were answered from memcached, by whether the answer was wrapped, or why not; jsonp.md has the reasons.")
}

func (m *metrics) inc(cell *atomic.Pointer[telemetry.Counter], reason, name, help string) {
	c := cell.Load()
	if c == nil {
		c = m.registry.Counter(name, help, "service", m.service, "reason", reason)
		cell.Store(c)
	}
	c.Inc()
}

// decisions returns the number of requests by decision.
func (m *metrics) decisions() map[telemetry.Decision]uint64 {
	counts := map[telemetry.Decision]uint64{}
	for d := range m.byDecision {
		if n := m.byDecision[d].Value(); n > 0 {
			counts[telemetry.Decision(d)] = n
		}
	}
	return counts
}
