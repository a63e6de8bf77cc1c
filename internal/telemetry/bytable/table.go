package bytable

import (
	"sync"
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// table has the series of one table or route.
type table struct {
	registry *telemetry.Registry
	labels   []string
	requests string                              // the name of the series in byWay
	help     string                              // and their description
	byWay    []atomic.Pointer[telemetry.Counter] // by telemetry.Decision; nil: none yet
	queries  []atomic.Pointer[telemetry.Counter] // the part of them that are queries, without series
	sent     *telemetry.Counter
	ages     *telemetry.Histogram              // of answers from memory
	evicted  atomic.Pointer[telemetry.Counter] // nil: none yet
	causes   sync.Map                          // *telemetry.Counter by the cause of an invalidation
	times
}

// times are the durations of requests.
type times struct {
	hits   *telemetry.Histogram // of requests that were served from memory
	origin *telemetry.Histogram // waits for the origin
}

// served reports whether a request with that decision was served from memory.
func served(d telemetry.Decision) bool {
	return d == telemetry.Hit || d == telemetry.HitNegative || d == telemetry.HitStale
}

// count adds a request.
func (t *times) count(r *telemetry.Record) {
	if served(r.Decision) {
		t.hits.Observe(r.Duration)
	}
	if r.Origin > 0 {
		t.origin.Observe(r.Origin)
	}
}

// helps are the descriptions of the series, by their label.
var helps = map[Label]struct{ requests, sent, hits, ages, origin string }{
	Table: {
		requests: "Requests for the table, by decision. The first 200 tables of a service and those that its configuration names have series; the others are counted as the table other, like requests that fail for an unknown table.",
		sent:     "Bytes of answers about the table, heads and bodies.",
		hits:     "Time of requests for the table that were served from memory, from the first byte to the last one of the answer.",
		ages:     "Age of the answers to requests for the table that were served from memory: the time since they were read from the origin, or written. With a shorter TTL the older ones would be misses.",
		origin:   "Time that requests for the table waited for the origin. Those that did not wait are not counted.",
	},
	Route: {
		requests: "Requests for the route, by decision. The configured routes of a service and the first 200 others have series; requests for further ones are counted as the route other, like requests that fail for an unknown one.",
		sent:     "Bytes of answers of the route, heads and bodies.",
		hits:     "Time of requests for the route that were served from memory, from the first byte to the last one of the answer.",
		ages:     "Age of the answers of the route that were served from memory, as in their field Age. Those of memcached itself are not counted.",
		origin:   "Time that requests for the route waited for the origin. Those that did not wait are not counted.",
	},
}

func newTable(s *service, name string) *table {
	labels := []string{"service", s.name, string(s.label), name}
	prefix, help := "kasoku_"+string(s.label), helps[s.label]
	return &table{
		registry: s.registry, labels: labels, byWay: make([]atomic.Pointer[telemetry.Counter], len(telemetry.Decisions)),
		queries:  make([]atomic.Pointer[telemetry.Counter], len(telemetry.Decisions)),
		requests: prefix + "_requests_total", help: help.requests,
		sent: s.registry.Counter(prefix+"_sent_bytes_total", help.sent, labels...),
		ages: s.registry.AgeHistogram(prefix+"_hit_age_seconds", help.ages, labels...),
		times: times{
			hits:   s.registry.Histogram(prefix+"_hit_duration_seconds", help.hits, labels...),
			origin: s.registry.Histogram(prefix+"_origin_seconds", help.origin, labels...),
		},
	}
}

// Figures count what happened to a table since the start.
type Figures struct {
	Table     string
	Decisions map[telemetry.Decision]uint64
	Queries   map[telemetry.Decision]uint64 // the part of them whose answers are of several items
	Sent      uint64                        // bytes of answers
	Hits      telemetry.Snapshot            // times of requests that were served from memory
	Origin    telemetry.Snapshot            // times that requests waited for the origin
}

func (t *table) figures() Figures {
	f := Figures{Table: t.labels[len(t.labels)-1], Decisions: map[telemetry.Decision]uint64{}, Queries: map[telemetry.Decision]uint64{}, Sent: t.sent.Value(), Hits: t.hits.Snapshot(), Origin: t.origin.Snapshot()}
	for d := range t.queries {
		if c := t.queries[d].Load(); c != nil {
			f.Queries[telemetry.Decision(d)] = c.Value()
		}
	}
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
	if r.Operation == "Query" || r.Operation == "Scan" {
		t.query(r.Decision).Inc()
	}
	t.sent.Add(uint64(max(0, r.BytesOut)))
	t.times.count(r)
	if r.Age > 0 && served(r.Decision) {
		t.ages.Observe(r.Age)
	}
}

// query returns the counter of queries with a decision.
func (t *table) query(d telemetry.Decision) *telemetry.Counter {
	c := &t.queries[d]
	if c.Load() == nil {
		c.CompareAndSwap(nil, telemetry.NewCounter())
	}
	return c.Load()
}

// decision returns the counter of a decision. Its series exists from the first request on.
func (t *table) decision(d telemetry.Decision) *telemetry.Counter {
	if c := t.byWay[d].Load(); c != nil {
		return c
	}
	c := t.registry.Counter(t.requests, t.help,
		append(t.labels[:len(t.labels):len(t.labels)], "decision", telemetry.Decisions[d].Name)...)
	t.byWay[d].Store(c)
	return c
}
