package origin

import (
	"strconv"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// transportMetrics are the series of one Transport.
type transportMetrics struct {
	// answered counts exchanges by the first digit of the status, faulted those
	// without an answer by the kind of the fault.
	answered [10]*telemetry.Counter
	faulted  [kinds]*telemetry.Counter
	opened   *telemetry.Counter
}

func newTransportMetrics(r *telemetry.Registry, service, member string) *transportMetrics {
	if r == nil {
		r = telemetry.NewRegistry()
	}
	m := &transportMetrics{
		opened: r.Counter("kasoku_upstream_connections_total", "Connections made to the member. As many as requests means that they are not kept.", "service", service, "member", member),
	}
	const help = "Exchanges with the member by outcome: the answer's class of status, or the kind of the fault when no head came."
	for i := 1; i < len(m.answered); i++ {
		m.answered[i] = r.Counter("kasoku_upstream_requests_total", help, "service", service, "member", member, "outcome", strconv.Itoa(i)+"xx")
	}
	for k := range m.faulted {
		m.faulted[k] = r.Counter("kasoku_upstream_requests_total", help, "service", service, "member", member, "outcome", FaultKind(k).String())
	}
	return m
}
