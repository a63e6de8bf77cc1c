package tracing

import (
	"context"
	"crypto/tls"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes a collector and the requests that are exported to it.
type Config struct {
	URL     string      // to which spans are posted, such as http://127.0.0.1:4318/v1/traces
	Headers http.Header // of these requests
	TLS     *tls.Config // nil for the system's authorities

	Sample    float64 // share of the requests without traceparent that are exported
	PerSecond int     // maximum number of requests that are exported in a second

	Name     string             // service.name
	Version  string             // service.version
	Instance string             // service.instance.id; empty without one
	Services map[string]Service // by the name that records have

	Log *slog.Logger // of failures
}

// Service describes a service of the configuration.
type Service struct {
	System   string // db.system.name; empty if it is no database
	HTTP     bool   // its operations are methods of HTTP
	Fallback bool   // its origin is not the database, but called on a miss there
	Host     string // of its origin; empty if it has several
	Port     int
}

// Limits of spans in memory.
const (
	maxPending = 4096
	maxBatch   = 512
)

// batchTime is how long a span waits for others at most.
const batchTime = time.Second

// exportTime is the maximum time for the export of a batch, with all attempts.
const exportTime = 30 * time.Second

// Exporter exports requests to one collector.
type Exporter struct {
	counts
	services map[string]Service
	bound    uint64 // a request is selected if a random number is below it
	rate     rate

	provider *sdk.TracerProvider
	tracer   trace.Tracer
	inner    sdk.SpanExporter
	failures failureLog
	pending  atomic.Int64 // spans that wait or are being sent

	hard context.Context // cancelled when Close no longer waits
	stop context.CancelFunc
}

// NewExporter returns an exporter whose spans t counts. It sends nothing before there are spans.
func (t *Tracer) NewExporter(c Config) *Exporter {
	e := &Exporter{
		counts: t.counts, services: c.Services, bound: bound(c.Sample), rate: rate{limit: uint32(max(0, c.PerSecond))},
		failures: failureLog{log: c.Log},
	}
	e.hard, e.stop = context.WithCancel(context.Background())
	id := []attribute.KeyValue{semconv.ServiceName(c.Name), semconv.ServiceVersion(c.Version)}
	if c.Instance != "" {
		id = append(id, semconv.ServiceInstanceID(c.Instance))
	}
	client := newClient(&c, e.hard, id)
	e.inner = otlptrace.NewUnstarted(client)
	otel.SetErrorHandler(&e.failures)
	e.provider = sdk.NewTracerProvider(
		sdk.WithResource(resource.NewWithAttributes(semconv.SchemaURL, id...)), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithIDGenerator(identities{}),
		sdk.WithRawSpanLimits(sdk.SpanLimits{AttributeValueLengthLimit: maxText, AttributeCountLimit: 128}),
		sdk.WithBatcher(e, sdk.WithMaxQueueSize(maxPending), sdk.WithMaxExportBatchSize(maxBatch),
			sdk.WithBatchTimeout(batchTime), sdk.WithExportTimeout(exportTime)),
	)
	e.tracer = e.provider.Tracer("github.com/kasoku/kasoku", trace.WithInstrumentationVersion(c.Version))
	return e
}

// bound returns the number below which the given share of all random numbers is.
func bound(share float64) uint64 {
	if share >= 1 {
		return math.MaxUint64
	}
	return uint64(max(0, share) * (1 << 63) * 2)
}

// start selects a request.
func (e *Exporter) start(traceparent []byte) *telemetry.Trace {
	if telemetry.TraceID(traceparent) != nil {
		if !telemetry.IsSampled(traceparent) {
			return nil
		}
	} else if rand.Uint64() >= e.bound {
		return nil
	}
	if !e.rate.allow(time.Now()) {
		e.limited.Inc()
		return nil
	}
	return telemetry.NewTrace(traceparent)
}

// reserve counts n spans as waiting, and reports whether there is room for them.
func (e *Exporter) reserve(n int64) bool {
	if e.pending.Add(n) > maxPending {
		e.pending.Add(-n)
		e.dropped.Add(uint64(n))
		return false
	}
	return true
}

// ExportSpans is called by the SDK with a batch. It reports no error, because the SDK would not log
// or count it as the other failures.
func (e *Exporter) ExportSpans(ctx context.Context, batch []sdk.ReadOnlySpan) error {
	n := uint64(len(batch))
	err := e.inner.ExportSpans(ctx, batch)
	e.pending.Add(-int64(n))
	refused := refusedSpans(err, n)
	e.exported.Add(n - refused)
	e.failed.Add(refused)
	if err != nil {
		e.failures.note(err, refused)
	}
	return nil
}

// Shutdown is called by the SDK at the end.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.inner.Shutdown(ctx) }

// Close sends the waiting spans. When ctx ends, the rest is counted as failed.
func (e *Exporter) Close(ctx context.Context) {
	defer e.stop()
	defer context.AfterFunc(ctx, e.stop)()
	_ = e.provider.Shutdown(context.WithoutCancel(ctx)) // failures are logged and counted
}
