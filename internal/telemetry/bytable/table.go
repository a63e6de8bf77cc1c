package bytable

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// table has the series of one table.
type table struct {
	registry *telemetry.Registry
	labels   []string
	byWay    []atomic.Pointer[telemetry.Counter] // by telemetry.Decision; nil: none yet
	sent     *telemetry.Counter
	times
}

// times are the durations of requests.
type times struct {
	hits   *telemetry.Histogram // of requests that were served from memory
	origin *telemetry.Histogram // waits for the origin
}

// count adds a request.
func (t *times) count(r *telemetry.Record) {
	switch r.Decision {
	case telemetry.Hit, telemetry.HitNegative, telemetry.HitStale:
		t.hits.Observe(r.Duration)
	}
	if r.Origin > 0 {
		t.origin.Observe(r.Origin)
	}
}

func newTable(r *telemetry.Registry, service, name string) *table {
	labels := []string{"service", service, "table", name}
	return &table{
		registry: r, labels: labels, byWay: make([]atomic.Pointer[telemetry.Counter], len(telemetry.Decisions)),
		sent: r.Counter("kasoku_table_sent_bytes_total", "Bytes of answers about the table, heads and bodies.", labels...),
		times: times{
			hits: r.Histogram("kasoku_table_hit_duration_seconds",
				"Time of requests for the table that were served from memory, from the first byte to the last one of the answer.", labels...),
			origin: r.Histogram("kasoku_table_origin_seconds",
				"Time that requests for the table waited for the origin. Those that did not wait are not counted.", labels...),
		},
	}
}

// Figures count what happened to a table since the start.
type Figures struct {
	Table     string
	Decisions map[telemetry.Decision]uint64
	Sent      uint64             // bytes of answers
	Hits      telemetry.Snapshot // times of requests that were served from memory
	Origin    telemetry.Snapshot // times that requests waited for the origin
}

func (t *table) figures() Figures {
	f := Figures{Table: t.labels[len(t.labels)-1], Decisions: map[telemetry.Decision]uint64{}, Sent: t.sent.Value(), Hits: t.hits.Snapshot(), Origin: t.origin.Snapshot()}
	for d := range t.byWay {
		if c := t.byWay[d].Load(); c != nil {
			f.Decisions[telemetry.Decision(d)] = c.Value()
		}
	}
	return f
}

// count adds a request.
func (t *table) count(r *telemetry.Record) {
	t.decision(r.Decision).Inc()
	t.sent.Add(uint64(max(0, r.BytesOut)))
	t.times.count(r)
}

// decision returns the counter of a decision. Its series exists from the first request on.
func (t *table) decision(d telemetry.Decision) *telemetry.Counter {
	if c := t.byWay[d].Load(); c != nil {
		return c
	}
	c := t.registry.Counter("kasoku_table_requests_total",
		"Requests for the table, by decision. The first 200 tables of a service and those that its configuration names have series; the others are counted as the table other, like requests that fail for an unknown table.",
		append(t.labels[:len(t.labels):len(t.labels)], "decision", telemetry.Decisions[d].Name)...)
	t.byWay[d].Store(c)
	return c
}
