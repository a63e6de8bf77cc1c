package cli

import (
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// observe registers the metrics that don't belong to a service.
func (n *Node) observe() {
	r := n.registry
	b := thisBuild()
	r.Gauge("kasoku_build_info", "Always 1; the labels identify the build.",
		func() float64 { return 1 }, "version", b.Version, "go", b.Go)
	observeCache(r, n.cache)
	observeInFlight(r, n.cache.Budget())
	if n.disk != nil {
		observeDisk(r, n.disk)
	}
	for _, s := range []struct {
		outcome string
		count   func(telemetry.LogStats) uint64
	}{
		{"written", func(s telemetry.LogStats) uint64 { return s.Written }},
		{"dropped", func(s telemetry.LogStats) uint64 { return s.Dropped }},
		{"failed", func(s telemetry.LogStats) uint64 { return s.Failed }},
	} {
		r.CounterFunc("kasoku_access_log_"+s.outcome+"_total", map[string]string{
			"written": "Access-log records handed to the file or to standard output, or delivered to Fluentd.",
			"dropped": "Access-log records dropped because their reader, disk or server was too slow. Requests are never delayed for them.",
			"failed":  "Access-log records that could not be written, as on a full disk, or that were left for Fluentd at the end with no spill directory.",
		}[s.outcome], func() float64 { return float64(s.count(n.accessLogs.stats())) })
	}
	for _, g := range []struct {
		name, help string
		value      func(telemetry.LogStats) float64
	}{
		{"pending_records", "Access-log records for Fluentd that wait in memory. Growing numbers mean that its servers are away or too slow.",
			func(s telemetry.LogStats) float64 { return float64(s.Pending) }},
		{"spilled_records", "Access-log records for Fluentd that wait in the spill directory.",
			func(s telemetry.LogStats) float64 { return float64(s.Spilled) }},
		{"spilled_bytes", "Bytes of access-log records in the spill directory. At spill_max, further records are dropped.",
			func(s telemetry.LogStats) float64 { return float64(s.SpillBytes) }},
	} {
		r.Gauge("kasoku_access_log_"+g.name, g.help, func() float64 { return g.value(n.accessLogs.stats()) })
	}
	r.Gauge("kasoku_config_last_reload_successful", "1 if the configuration file was valid the last time it was read, else 0. If 0, /api/v1/config has the errors.",
		func() float64 {
			if len(n.configStatus().Problems) > 0 {
				return 0
			}
			return 1
		})
	r.Gauge("kasoku_config_loaded_timestamp_seconds", "When the configuration that runs was read.",
		func() float64 { return float64(n.configStatus().Loaded.UnixNano()) / float64(time.Second) })
}

func observeCache(r *telemetry.Registry, c *cache.Cache) {
	observeMemory(r, func() cache.Usage { return c.Stats().Usage }, "")
	for _, x := range []struct {
		name, help string
		f          func(cache.Stats) uint64
	}{
		{"fills_total", "Reads at the origin in order to fill the cache.", func(s cache.Stats) uint64 { return s.Fills }},
		{"coalesced_total", "Requests that waited for the fill of another one instead of fetching from the origin.", func(s cache.Stats) uint64 { return s.Coalesced }},
		{"queued_total", "Requests that waited for the next fill instead of sharing the present one, because a write was in flight.", func(s cache.Stats) uint64 { return s.Queued }},
		{"stored_total", "Entries stored.", func(s cache.Stats) uint64 { return s.Stored }},
		{"overtaken_total", "Fills not stored because of a write in between. Normal for keys that are written often.", func(s cache.Stats) uint64 { return s.Overtaken }},
		{"unsettled_total", "Fills not stored because a write was in flight or its outcome unknown.", func(s cache.Stats) uint64 { return s.Unsettled }},
		{"refreshes_total", "Refreshes of entries in use that were started before they expired (refresh_ahead).", func(s cache.Stats) uint64 { return s.Refreshes }},
		{"raced_writes_total", "Tags on which writes overlapped, so that neither's value was kept.", func(s cache.Stats) uint64 { return s.Raced }},
		{"generations_moved_total", "Generations moved by writes and purges: the pace of invalidation.", func(s cache.Stats) uint64 { return s.Bumped }},
		{"fill_panics_total", "Panics inside fills; each is a bug, the log has its stack.", func(s cache.Stats) uint64 { return s.Panics }},
	} {
		r.CounterFunc("kasoku_cache_"+x.name, x.help, func() float64 { return float64(x.f(c.Stats())) })
	}
	for cause := range c.Stats().Applied {
		r.CounterFunc("kasoku_cache_changes_total", "Changes applied to the cache, by cause.",
			func() float64 { return float64(c.Stats().Applied[cause]) }, "cause", cause)
	}
}

// observeInFlight registers the metrics of memory for requests and answers in flight.
func observeInFlight(r *telemetry.Registry, b *inflight.Budget) {
	r.Gauge("kasoku_in_flight_bytes", "Bytes of requests and answers in flight, in addition to stored entries: bodies, buffers, and a fixed share for each request that needs its origin and each stream of HTTP/2.",
		func() float64 { return float64(b.Stats().Held) })
	r.Gauge("kasoku_in_flight_limit_bytes", "Bytes beyond which requests wait and the slowest clients are cut. From half of cache.memory on, bodies are not buffered.",
		func() float64 { return float64(b.Upper()) })
	r.Gauge("kasoku_in_flight_waiting", "Requests that wait for memory.",
		func() float64 { return float64(b.Stats().Waiting) })
	for _, c := range []struct {
		name, help string
		value      func(inflight.Stats) uint64
	}{
		{"waits_total", "Requests that have waited for memory.", func(s inflight.Stats) uint64 { return s.Waits }},
		{"unbuffered_total", "Bodies that passed through at the pace of their client, and were not stored, because there was no memory to buffer them. Many of these: slow clients of large bodies, or too little cache.memory.",
			func(s inflight.Stats) uint64 { return s.Unbuffered }},
		{"refused_total", "Requests answered with 503 because there was no memory for them. Many of these: an attack, or too little cache.memory.",
			func(s inflight.Stats) uint64 { return s.Refused }},
		{"cut_total", "Slow clients whose answers were cut because other requests waited for memory.", func(s inflight.Stats) uint64 { return s.Cut }},
	} {
		r.CounterFunc("kasoku_in_flight_"+c.name, c.help, func() float64 { return float64(c.value(b.Stats())) })
	}
}

// observeMemory registers the metrics of the memory of a service with its own limit or, if
// service is empty, of the memory that all others share.
func observeMemory(r *telemetry.Registry, usage func() cache.Usage, service string) {
	for _, g := range []struct {
		name, help string
		f          func(cache.Usage) float64
	}{
		{"entries", "Entries in memory. A service with `memory` of its own has a series; all others share the one without a service.",
			func(u cache.Usage) float64 { return float64(u.Entries) }},
		{"bytes", "Bytes of the entries in memory.", func(u cache.Usage) float64 { return float64(u.Bytes) }},
		{"capacity_bytes", "Maximum of kasoku_cache_bytes. If it is almost reached and entries are evicted, more memory would increase hits.",
			func(u cache.Usage) float64 { return float64(u.Capacity) }},
	} {
		r.Gauge("kasoku_cache_"+g.name, g.help, func() float64 { return g.f(usage()) }, "service", service)
	}
	r.CounterFunc("kasoku_cache_evictions_total", "Entries evicted to make room.",
		func() float64 { return float64(usage().Evictions) }, "service", service)
	r.CounterFunc("kasoku_cache_evicted_bytes_total", "Bytes of the entries evicted to make room.",
		func() float64 { return float64(usage().EvictedBytes) }, "service", service)
}
