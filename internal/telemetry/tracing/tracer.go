package tracing

import (
	"sync/atomic"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Tracer selects requests, and passes their records to the exporter in use. It is a
// [telemetry.Tracer].
type Tracer struct {
	now atomic.Pointer[Exporter] // nil: nothing is exported
	counts
}

// counts are the metrics of a tracer, which continue when its exporter is replaced.
type counts struct {
	exported, dropped, failed *telemetry.Counter // spans
	limited                   *telemetry.Counter // requests
}

// New returns a tracer that selects no request, with its metrics in r.
func New(r *telemetry.Registry) *Tracer {
	spans := func(result string) *telemetry.Counter {
		return r.Counter("kasoku_trace_spans_total",
			"Spans by their end: accepted by the collector (exported), dropped because too many were waiting for it (dropped), or refused by it, also for a time longer than 30 s (failed). Requests are never delayed for them.",
			"result", result)
	}
	return &Tracer{counts: counts{
		exported: spans("exported"), dropped: spans("dropped"), failed: spans("failed"),
		limited: r.Counter("kasoku_trace_limited_total",
			"Requests that were selected for traces, and not exported because of tracing.requests_per_second."),
	}}
}

// Use sets the exporter, nil for none, and returns the former one, which the caller closes.
func (t *Tracer) Use(e *Exporter) (former *Exporter) { return t.now.Swap(e) }

// Start selects a request: by the flag of a valid traceparent, or at random without one.
func (t *Tracer) Start(traceparent []byte) *telemetry.Trace {
	e := t.now.Load()
	if e == nil {
		return nil
	}
	return e.start(traceparent)
}

// Tap returns a sink that exports the records of selected requests, and passes all records on to
// next.
func (t *Tracer) Tap(next telemetry.Sink) telemetry.Sink { return &tap{next, t} }

type tap struct {
	telemetry.Sink
	tracer *Tracer
}

// Log exports r and passes it on.
func (t *tap) Log(r *telemetry.Record) {
	if r.Trace != nil {
		if e := t.tracer.now.Load(); e != nil {
			e.export(r)
		}
	}
	t.Sink.Log(r)
}
