package tracing

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00f067aa0ba902b7"
	sampled = "00-" + traceID + "-" + parent + "-01"
)

// lockedText is a buffer for concurrent use.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// fixture is a tracer with an exporter.
type fixture struct {
	*Tracer
	t    *testing.T
	sink telemetry.Sink
	log  lockedText
}

func newFixture(t *testing.T, url string, change func(*Config)) *fixture {
	f := &fixture{Tracer: New(telemetry.NewRegistry()), t: t}
	f.sink = f.Tap(telemetry.Discard())
	f.set(url, change)
	t.Cleanup(f.close)
	return f
}

// set replaces the exporter.
func (f *fixture) set(url string, change func(*Config)) {
	c := Config{
		URL: url + "/v1/traces", PerSecond: 1000, Name: "kasoku", Version: "1.2.3", Instance: "a",
		Services: map[string]Service{"orders": {System: "aws.dynamodb", Host: "db.example.com", Port: 443}, "site": {HTTP: true}, "counts": {System: "memcached", HTTP: true, Fallback: true}},
		Log:      slog.New(slog.NewTextHandler(&f.log, nil)),
	}
	if change != nil {
		change(&c)
	}
	closeExporter(f.Use(f.NewExporter(c)))
}

func closeExporter(e *Exporter) {
	if e != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		e.Close(ctx)
	}
}

// close sends the waiting spans.
func (f *fixture) close() { closeExporter(f.Use(nil)) }

// request logs a record for a request with a traceparent, and returns its trace.
func (f *fixture) request(traceparent string, r telemetry.Record) *telemetry.Trace {
	f.t.Helper()
	var field []byte
	if traceparent != "" {
		field = []byte(traceparent)
	}
	if r.Trace = f.Start(field); r.Trace == nil {
		f.t.Fatal("the request was not selected")
	}
	f.sink.Log(&r)
	return r.Trace
}

func (f *fixture) expect(exported, dropped, failed uint64) {
	f.t.Helper()
	if e, d, x := f.exported.Value(), f.dropped.Value(), f.failed.Value(); e != exported || d != dropped || x != failed {
		f.t.Errorf("%d spans exported, %d dropped, %d failed, want %d, %d, %d; the log: %s", e, d, x, exported, dropped, failed, f.log.String())
	}
}

// TestSpans checks the spans of a miss: names, times, identities and attributes.
func TestSpans(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_RESOURCE_ATTRIBUTES": "a=b", "OTEL_SERVICE_NAME": "other", "OTEL_TRACES_SAMPLER": "always_off", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "1",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_BSP_MAX_QUEUE_SIZE": "1", "HTTP_PROXY": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	c := newCollector(t)
	f := newFixture(t, c.URL, func(c *Config) { c.Headers = http.Header{"X-Api-Key": {"s3cret"}} })
	start := time.Unix(1_700_000_000, 5000)
	r := telemetry.Record{
		Time: start, Asked: time.Millisecond, Origin: 10 * time.Millisecond, Duration: 12 * time.Millisecond, Service: "orders", RequestID: []byte("id-1"),
		Operation: "GetItem", Table: []byte("users"), Path: []byte("/"), KeyHash: 7, Status: 200, Decision: telemetry.Miss, Principal: []byte("AKIA"),
		Client: netip.MustParseAddrPort("[::ffff:10.0.0.7]:99"), UserAgent: []byte("x\xff" + strings.Repeat("y", 2000)), Node: "a",
	}
	tr := f.request(sampled, r)
	f.close()
	f.expect(2, 0, 0)
	spans := c.all()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	origin, server := spans[0], spans[1]
	if server.Name != "GetItem users" || server.Kind != tracepb.Span_SPAN_KIND_SERVER || origin.Name != "GetItem users" || origin.Kind != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("spans %s (%v) and %s (%v)", server.Name, server.Kind, origin.Name, origin.Kind)
	}
	id := func(b []byte) string { return hex.EncodeToString(b) }
	if id(server.TraceId) != traceID || id(server.ParentSpanId) != parent || id(server.SpanId) != id(tr.Span[:]) ||
		id(origin.TraceId) != traceID || id(origin.ParentSpanId) != id(server.SpanId) || id(origin.SpanId) != id(tr.Origin[:]) {
		t.Errorf("wrong identities: %v and %v", server, origin)
	}
	begin := uint64(start.UnixNano())
	if server.StartTimeUnixNano != begin || server.EndTimeUnixNano != begin+12e6 || origin.StartTimeUnixNano != begin+1e6 || origin.EndTimeUnixNano != begin+11e6 {
		t.Errorf("wrong times: %v and %v", server, origin)
	}
	f.attributes(server, map[string]any{
		"db.system.name": "aws.dynamodb", "db.operation.name": "GetItem", "db.collection.name": "users", "http.response.status_code": 200,
		"client.address": "10.0.0.7", "user_agent.original": "x\uFFFD" + strings.Repeat("y", 1022), "kasoku.decision": "miss", "kasoku.service": "orders", "kasoku.node": "a", "kasoku.request_id": "id-1",
	})
	f.attributes(origin, map[string]any{
		"db.system.name": "aws.dynamodb", "db.operation.name": "GetItem", "db.collection.name": "users", "server.address": "db.example.com", "server.port": 443,
	})
	if got, want := attributes(c.resource), map[string]any{"service.name": "kasoku", "service.version": "1.2.3", "service.instance.id": "a"}; !maps.Equal(got, want) {
		t.Errorf("the resource has %v", got)
	}
	if h := c.heads[0]; h.Get("X-Api-Key") != "s3cret" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("the collector got the fields %v", h)
	}
}

func (f *fixture) attributes(s *tracepb.Span, want map[string]any) {
	f.t.Helper()
	if got := attributes(s.Attributes); !maps.Equal(got, want) {
		f.t.Errorf("%s has the attributes\n%v, want\n%v", s.Name, got, want)
	}
}

// TestKinds checks the spans of requests of other kinds.
func TestKinds(t *testing.T) {
	c := newCollector(t)
	f := newFixture(t, c.URL, func(c *Config) { c.Sample = 1 })
	one := func(r telemetry.Record, sent bool) []*tracepb.Span {
		t.Helper()
		r.Trace = f.Start(nil)
		r.Trace.Sent = sent
		c.spans = nil
		f.sink.Log(&r)
		f.close()
		f.set(c.URL, func(c *Config) { c.Sample = 1 })
		return c.all()
	}
	hit := one(telemetry.Record{Service: "site", Operation: "GET", Route: []byte("/a/*"), Path: []byte("/a/b"), Status: 200, Decision: telemetry.Hit, TLS: true}, false)
	if len(hit) != 1 || hit[0].Name != "GET /a/*" || len(hit[0].ParentSpanId) != 0 || hit[0].Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("a hit: %v", hit)
	}
	f.attributes(hit[0], map[string]any{
		"http.request.method": "GET", "http.route": "/a/*", "url.path": "/a/b", "url.scheme": "https", "http.response.status_code": 200, "kasoku.decision": "hit", "kasoku.service": "site",
	})
	stale := one(telemetry.Record{Service: "site", Operation: "GET", Status: 200, Decision: telemetry.HitStale}, true)
	if len(stale) != 2 || stale[0].Kind != tracepb.Span_SPAN_KIND_CLIENT {
		t.Errorf("a hit that is refreshed: %v", stale)
	}
	waited := one(telemetry.Record{Service: "orders", Operation: "Query", Table: []byte("t"), Status: 200, Decision: telemetry.Coalesced, Origin: 5}, true)
	if len(waited) != 2 || waited[0].Kind != tracepb.Span_SPAN_KIND_INTERNAL || waited[0].Name != "wait for Query t" {
		t.Errorf("a coalesced request: %v", waited)
	}
	failed := one(telemetry.Record{Service: "counts", Operation: "other", Table: []byte("made up"), Status: 502, Error: "no connection", Origin: 5}, true)
	if len(failed) != 2 || failed[1].Name != "HTTP" || failed[1].Status.Code != tracepb.Status_STATUS_CODE_ERROR || failed[1].Status.Message != "no connection" {
		t.Fatalf("a failed request: %v", failed)
	}
	f.attributes(failed[0], map[string]any{"db.collection.name": "made up", "http.request.method": "_OTHER", "error.type": "502"})
	f.attributes(failed[1], map[string]any{
		"db.system.name": "memcached", "db.operation.name": "other", "db.collection.name": "made up", "http.request.method": "_OTHER", "http.response.status_code": 502,
		"kasoku.decision": "none", "kasoku.service": "counts", "kasoku.error": "no connection", "error.type": "502", "url.scheme": "http",
	})
}

// TestSelection checks which requests are selected, also after exporters were exchanged.
func TestSelection(t *testing.T) {
	c := newCollector(t)
	f := newFixture(t, c.URL, nil)
	selects := func(field string) bool { return f.Start([]byte(field)) != nil }
	if !selects(sampled) || selects(sampled[:53]+"00") || selects(sampled[:53]+"02") || selects("") || selects("nonsense") {
		t.Error("without a ratio, other requests than those of traces that are recorded are selected")
	}
	f.set(c.URL, func(c *Config) { c.Sample = 1 })
	if !selects(sampled) || selects(sampled[:53]+"00") || !selects("") || !selects("nonsense") {
		t.Error("with ratio 1, other requests than all except those of traces that are not recorded are selected")
	}
	if a, b := bound(0.25), bound(0.01); a != 1<<62 || math.Abs(float64(b)/(1<<64)-0.01) > 1e-9 || bound(0) != 0 {
		t.Errorf("bounds %d, %d and %d", a, b, bound(0))
	}
	f.set(c.URL, func(c *Config) { c.PerSecond = 0 })
	before := f.limited.Value()
	if selects(sampled) || f.limited.Value() != before+1 {
		t.Error("the limit has no effect")
	}
	f.close()
	r := telemetry.Record{Trace: telemetry.NewTrace(nil)}
	f.sink.Log(&r)
	if selects(sampled) {
		t.Error("a request is selected without an exporter")
	}
	f.expect(0, 0, 0)
}

func TestRate(t *testing.T) {
	r := rate{limit: 2}
	now := time.Unix(1_700_000_000, 0)
	for i, want := range []bool{true, true, false, false} {
		if r.allow(now) != want {
			t.Errorf("event %d: %v", i, !want)
		}
	}
	if !r.allow(now.Add(time.Second)) || !r.allow(now.Add(1500*time.Millisecond)) || r.allow(now.Add(1900*time.Millisecond)) {
		t.Error("the next second has another limit")
	}
}

// TestDropped checks that spans beyond the limit are dropped and counted while the collector hangs,
// and that the others are sent.
func TestDropped(t *testing.T) {
	c := newCollector(t)
	c.release = make(chan struct{})
	f := newFixture(t, c.URL, func(c *Config) { c.PerSecond = 1e6 })
	for range maxPending + 3 {
		f.request(sampled, telemetry.Record{Service: "site", Status: 200})
	}
	if n := f.dropped.Value(); n != 3 {
		t.Errorf("%d spans dropped", n)
	}
	close(c.release)
	f.close()
	f.expect(maxPending, 3, 0)
	if n := len(c.all()); n != maxPending {
		t.Errorf("the collector got %d spans", n)
	}
}

// TestCollectorFails checks that a busy collector is tried again, and that other errors and refused
// spans are counted and logged.
func TestCollectorFails(t *testing.T) {
	c := newCollector(t, 503)
	f := newFixture(t, c.URL, nil)
	f.request(sampled, telemetry.Record{})
	f.close()
	f.expect(1, 0, 0)

	for _, status := range []int{400, 307} {
		c.answers = []int{status}
		f.set(c.URL, nil)
		f.request(sampled, telemetry.Record{})
		f.close()
		if !strings.Contains(f.log.String(), http.StatusText(status)) {
			t.Errorf("%d: the log has %s", status, f.log.String())
		}
	}
	f.expect(1, 0, 2)

	success := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	success = protowire.AppendString(protowire.AppendTag(success, 2, protowire.BytesType), "too old")
	c.body = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), success)
	f.set(c.URL, nil)
	for range 3 {
		f.request(sampled, telemetry.Record{})
	}
	f.close()
	f.expect(2, 0, 4)
	if !strings.Contains(f.log.String(), "too old") {
		t.Errorf("the log has %s", f.log.String())
	}
	for _, malformed := range []string{"\x0a\xff", "\x0a\x02\x08", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if err := partial([]byte(malformed)); err != nil {
			t.Errorf("%q: %v", malformed, err)
		}
	}
}

// TestCollectorAway checks that a close ends with its context while no collector answers, and that
// the log has one line.
func TestCollectorAway(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	f := newFixture(t, server.URL, func(c *Config) { c.PerSecond = 1e6 })
	for range 2*maxBatch + 1 {
		f.request(sampled, telemetry.Record{})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Use(nil).Close(ctx)
	f.expect(0, 0, 2*maxBatch+1)
	if n := strings.Count(f.log.String(), "spans were not exported"); n != 1 {
		t.Errorf("%d lines: %s", n, f.log.String())
	}
}

// TestAllocations checks that a request that is not selected costs no allocation.
func TestAllocations(t *testing.T) {
	c := newCollector(t)
	f := newFixture(t, c.URL, func(c *Config) { c.Sample = 1e-18 })
	field, r := []byte(sampled[:53]+"00"), telemetry.Record{}
	n := testing.AllocsPerRun(1000, func() {
		r.Trace = f.Start(field)
		f.sink.Log(&r)
		r.Trace = f.Start(nil)
		f.sink.Log(&r)
	})
	if n > 0 && !race.Enabled {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkStart measures the cost of a request: without an exporter, not selected, and selected.
func BenchmarkStart(b *testing.B) {
	for _, q := range []struct{ name, field string }{{"off", ""}, {"not selected", ""}, {"selected", sampled}} {
		b.Run(q.name, func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			defer server.Close()
			tracer := New(telemetry.NewRegistry())
			sink := tracer.Tap(telemetry.Discard())
			if q.name != "off" {
				tracer.Use(tracer.NewExporter(Config{URL: server.URL, Sample: 0.0001, PerSecond: 1 << 30, Log: slog.New(slog.DiscardHandler)}))
				defer func() { closeExporter(tracer.Use(nil)) }()
			}
			var field []byte
			if q.field != "" {
				field = []byte(q.field)
			}
			r := telemetry.Record{Service: "orders", Operation: "GetItem", Table: []byte("users"), Status: 200}
			b.ReportAllocs()
			for b.Loop() {
				r.Trace = tracer.Start(field)
				sink.Log(&r)
			}
		})
	}
}
