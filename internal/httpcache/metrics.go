package httpcache

import (
	"fmt"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/httpcache/policy"
	"github.com/kasoku/kasoku/internal/jsonp"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the service's counters. A counter of a reason is made at its first use: most
// are never used.
type metrics struct {
	registry *telemetry.Registry
	service  string
	requests [96]atomic.Pointer[telemetry.Counter] // by policy.Reason
	answers  [96]atomic.Pointer[telemetry.Counter] // by policy.Reason
	wraps    [32]atomic.Pointer[telemetry.Counter] // by jsonp.Reason
	by       []*telemetry.Counter                  // by telemetry.Decision, for the report
	asked    *telemetry.Counter
	faults   *telemetry.Counter
	cut      *telemetry.Counter
}

func newMetrics(r *telemetry.Registry, service string) *metrics {
	by := make([]*telemetry.Counter, len(telemetry.Decisions))
	for i := range by {
		by[i] = telemetry.NewCounter()
	}
	return &metrics{
		by: by, registry: r, service: service,
		asked: r.Counter("kasoku_http_origin_requests_total", "Requests to origins; a retried request counts once.", "service", service),
		faults: r.Counter("kasoku_http_cache_faults_total",
			"Faults inside the cache; the requests were passed through where that was safe. Always worth a bug report.", "service", service),
		cut: r.Counter("kasoku_http_cut_total",
			"Answers that were cut because the origin's body was incomplete, or their client was too slow.", "service", service),
	}
}

// answered counts how a request was answered.
func (m *metrics) answered(why policy.Reason, d telemetry.Decision) {
	m.by[d].Inc()
	m.inc(&m.requests[why], why, "kasoku_http_requests_total", "Requests by how they were answered; http-reference.md has the reasons.")
}

// stored counts why an origin's answer was stored or not.
func (m *metrics) stored(why policy.Reason) {
	m.inc(&m.answers[why], why, "kasoku_http_origin_answers_total", "Answers of origins by whether they were stored, or why not; http-reference.md has the reasons.")
}

// wrapped counts why an answer was wrapped for its callback or not.
func (m *metrics) wrapped(why jsonp.Reason) {
	m.inc(&m.wraps[why], why, "kasoku_http_jsonp_total", "Requests that name a callback, by whether their answer was wrapped, or why not; jsonp.md has the reasons.")
}

func (m *metrics) inc(cell *atomic.Pointer[telemetry.Counter], why fmt.Stringer, name, help string) {
	c := cell.Load()
	if c == nil {
		c = m.registry.Counter(name, help, "service", m.service, "reason", why.String())
		cell.Store(c)
	}
	c.Inc()
}

// decisions returns the number of requests by decision.
func (m *metrics) decisions() map[telemetry.Decision]uint64 {
	counts := map[telemetry.Decision]uint64{}
	for d := range m.by {
		if n := m.by[d].Value(); n > 0 {
			counts[telemetry.Decision(d)] = n
		}
	}
	return counts
}

// observe exports the figures of the store and the flights.
func (s *Service) observe() {
	for _, m := range []struct {
		name, help string
		value      func(Stats) uint64
	}{
		{"stored_total", "Responses stored.", func(t Stats) uint64 { return t.Stored }},
		{"overtaken_total", "Responses not stored because a write or a purge was made while they were fetched.", func(t Stats) uint64 { return t.Overtaken }},
		{"flights_total", "Fetches: requests to origins whose answers concurrent clients can share.", func(t Stats) uint64 { return t.Flights }},
		{"joined_total", "Requests that joined the fetch of another client.", func(t Stats) uint64 { return t.Joined }},
		{"released_total", "Requests that waited for another client's answer, which could not be shared. Many of these: uncacheable_ttl may be too short.", func(t Stats) uint64 { return t.Released }},
		{"behind_total", "Clients disconnected because they read a body that is too large to be stored more slowly than others can wait for.", func(t Stats) uint64 { return t.Behind }},
		{"abandoned_total", "Fetches ended because all their clients had disconnected.", func(t Stats) uint64 { return t.Abandoned }},
		{"encoded_total", "Responses that were encoded, or found not to be worth it (compress).", func(t Stats) uint64 { return t.Encoded }},
		{"unencoded_total", "Responses that were not encoded because too many others waited for it.", func(t Stats) uint64 { return t.Unencoded }},
		{"undisked_total", "Bodies not written to disk although they should be: it was full of bodies in flight, or has failed.", func(t Stats) uint64 { return t.Undisked }},
		{"purges_total", "Purges.", func(t Stats) uint64 { return t.Purges }},
	} {
		s.registry.CounterFunc("kasoku_http_"+m.name, m.help, func() float64 { return float64(m.value(s.Stats())) }, "service", s.name)
	}
	s.registry.Gauge("kasoku_http_flights", "Fetches in flight.",
		func() float64 { return float64(s.Stats().Running) }, "service", s.name)
	s.registry.Gauge("kasoku_http_flying_bytes", "Bytes of bodies that fetches in flight hold.",
		func() float64 { return float64(s.Stats().Held) }, "service", s.name)
	s.registry.Gauge("kasoku_http_lent_bytes", "Bytes of bodies that are still being sent but are not stored, either no longer or never. The cache may hold this much less.",
		func() float64 { return float64(s.Stats().InFlight) }, "service", s.name)
}
