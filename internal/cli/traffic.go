package cli

import (
	"context"
	"sync"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/telemetry/history"
)

// keepHistory starts to record the figures of services over time. The returned function stops it.
func (n *Node) keepHistory() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { n.history.Run(ctx) })
	return func() {
		cancel()
		run.Wait()
	}
}

// totals returns the figures of all services since their start.
func (n *Node) totals() []history.Totals {
	o := n.overview()
	return o.Totals()
}

// traffic returns a function that returns what clients of a service saw, from its metrics.
func (n *Node) traffic(s *config.Service) func() admin.Traffic {
	// An embedded store has no metrics of an origin.
	service, origin := s.Name, []string{"kasoku_upstream_head_seconds", "kasoku_memcached_reply_seconds"}
	if s.DynamoDB != nil {
		origin = []string{"kasoku_table_origin_seconds"}
	}
	return func() admin.Traffic {
		r := n.registry
		t := admin.Traffic{
			Errors: r.SumCounters("kasoku_edge_requests_total", "service", service, "class", "5xx") +
				r.SumCounters("kasoku_dax_errors_total", "service", service, "kind", "server"),
			Latency: r.SumHistograms("kasoku_edge_request_duration_seconds", "service", service),
		}
		sum := r.SumHistograms("kasoku_dax_request_duration_seconds", "service", service)
		t.Latency.Add(&sum)
		for _, name := range origin {
			sum = r.SumHistograms(name, "service", service)
			t.Origin.Add(&sum)
		}
		return t
	}
}
