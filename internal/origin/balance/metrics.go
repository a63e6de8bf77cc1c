package balance

import (
	"time"

	"github.com/kasoku/kasoku/internal/origin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the series of a group.
type metrics struct{ retries, spent, hedges, panics *telemetry.Counter }

func newMetrics(r *telemetry.Registry, service string) *metrics {
	f := func(name, help string) *telemetry.Counter { return r.Counter(name, help, "service", service) }
	return &metrics{
		retries: f("kasoku_upstream_retries_total", "Requests that were sent to another member because one failed."),
		spent:   f("kasoku_upstream_retry_budget_spent_total", "Retries and hedges that the budget did not allow. Growing numbers mean that the group as a whole fails or is slow."),
		hedges:  f("kasoku_upstream_hedges_total", "Requests that were sent to a second member because the first one took long."),
		panics:  f("kasoku_upstream_panics_total", "Requests sent to an unavailable member because no member was available."),
	}
}

// memberMetrics are the series of one member, beside those of its transport. Checks don't
// count as requests.
type memberMetrics struct {
	// answered counts by the class of the status, 0 for one that HTTP does not define, faulted by
	// the kind of the fault.
	answered                               [6]*telemetry.Counter
	faulted                                [len(faults)]*telemetry.Counter
	head                                   *telemetry.Histogram
	ejections, opened, cut, checks, unwell *telemetry.Counter
}

// faults are the fault kinds of a Transport.
var faults = [...]origin.FaultKind{origin.Dial, origin.Timeout, origin.Reset, origin.Garbage, origin.Canceled, origin.Unprepared, origin.Withheld}

func newMemberMetrics(r *telemetry.Registry, service, member string) memberMetrics {
	labels := []string{"service", service, "member", member}
	f := func(name, help string, more ...string) *telemetry.Counter {
		return r.Counter(name, help, append(labels[:4:4], more...)...)
	}
	mm := memberMetrics{
		head:      r.Histogram("kasoku_upstream_head_seconds", "Time from choosing the member to the head of its answer.", labels...),
		ejections: f("kasoku_upstream_ejections_total", "Times the member was left out because requests failed."),
		opened:    f("kasoku_upstream_breaker_opened_total", "Times the member's circuit breaker opened."),
		cut:       f("kasoku_upstream_cut_total", "Answers that broke off within the body."),
		checks:    f("kasoku_upstream_checks_total", "Active checks of the member."),
		unwell:    f("kasoku_upstream_checks_failed_total", "Active checks of the member that failed."),
	}
	const help = "Requests sent to the member by outcome: the class of the status, or the kind of the fault if no head arrived."
	for i, class := range [...]string{"other", "1xx", "2xx", "3xx", "4xx", "5xx"} {
		mm.answered[i] = f("kasoku_upstream_requests_total", help, "outcome", class)
	}
	for i, kind := range faults {
		mm.faulted[i] = f("kasoku_upstream_requests_total", help, "outcome", kind.String())
	}
	return mm
}

// answer counts a request by the status of its answer.
func (mm *memberMetrics) answer(status int) {
	class := status / 100
	if class >= len(mm.answered) {
		class = 0
	}
	mm.answered[class].Inc()
}

// fault counts a request without an answer.
func (mm *memberMetrics) fault(kind origin.FaultKind) {
	for i, k := range faults {
		if k == kind {
			mm.faulted[i].Inc()
		}
	}
}

// watch registers gauges of the member's state. The member must be complete.
func (m *member) watch(r *telemetry.Registry, service string) {
	r.Gauge("kasoku_upstream_available", "1 while the member may get requests, 0 while it is drained or ejected, its checks fail or its circuit breaker is open.",
		func() float64 { return m.availability(time.Now()) }, "service", service, "member", m.name)
	r.Gauge("kasoku_upstream_inflight", "Exchanges with the member under way, until the end of the body.",
		func() float64 { return float64(m.inflight.Load()) }, "service", service, "member", m.name)
}

func (m *member) availability(now time.Time) float64 {
	if m.state(now) == "up" {
		return 1
	}
	return 0
}
