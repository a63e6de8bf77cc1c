package client

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// metrics are the series of one server.
type metrics struct {
	gets                             [len(results)]*telemetry.Counter
	stores                           [len(storeResults)]*telemetry.Counter
	batches, retries, opened, downed *telemetry.Counter
	replies                          *telemetry.Histogram
	open                             atomic.Int64 // open connections
}

func newMetrics(r *telemetry.Registry, service, server string) *metrics {
	labels := []string{"service", service, "server", server}
	f := func(name, help string, more ...string) *telemetry.Counter {
		return r.Counter(name, help, append(labels[:4:4], more...)...)
	}
	m := &metrics{
		batches: f("kasoku_memcached_writes_total", "Writes to the server's connections, each with all commands of the moment."),
		retries: f("kasoku_memcached_retries_total", "Commands that were sent again because their connection had ended before the reply."),
		opened:  f("kasoku_memcached_connections_opened_total", "Connections made to the server. They are kept: a number that grows means a server, or something before it, that closes them."),
		replies: r.Histogram("kasoku_memcached_reply_seconds", "From handing a command to the connection to its reply's being read. Commands that get none are not in it.", labels...),
		downed:  f("kasoku_memcached_breaker_opened_total", "Times the server was found to be down; until it is back its keys are misses at once."),
	}
	for i, name := range results {
		m.gets[i] = f("kasoku_memcached_gets_total", "Gets by outcome. All except hit and miss are treated as a miss: the server failed, or the key can't be sent.", "outcome", name)
	}
	for i, name := range storeResults {
		m.stores[i] = f("kasoku_memcached_stores_total", "Values stored, deleted or marked as stale by outcome.", "outcome", name)
	}
	return m
}

// Watch exports the state of the servers in Config.Metrics. It is called when c replaces
// before, which may be nil; series of servers that only before has are removed.
func (c *Client) Watch(before *Client) {
	r, service := c.cfg.Metrics, c.cfg.Name
	kept := map[string]bool{}
	for _, s := range c.servers {
		kept[s.at.Address] = true
		s.watch(r, service)
	}
	if before == nil {
		return
	}
	for _, s := range before.servers {
		if !kept[s.at.Address] {
			r.Unregister("service", service, "server", s.at.Address)
		}
	}
}

// watch exports the state of the server.
func (s *server) watch(r *telemetry.Registry, service string) {
	r.Gauge("kasoku_memcached_available", "1 while the server is in use, 0 while it is down.", func() float64 {
		if s.down.Load() {
			return 0
		}
		return 1
	}, "service", service, "server", s.at.Address)
	r.Gauge("kasoku_memcached_connections", "Connections to the server that are open.",
		func() float64 { return float64(s.metrics.open.Load()) }, "service", service, "server", s.at.Address)
}
