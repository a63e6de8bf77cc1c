// Package fluentd runs the fluent package against receivers that others wrote.
package fluentd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/fluent"
	"github.com/open-telemetry/opentelemetry-collector-contrib/receiver/fluentforwardreceiver"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	metric "go.opentelemetry.io/otel/metric/noop"
	trace "go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/zap"
)

// sink is a pipeline that collects the records of OpenTelemetry's receiver.
type sink struct {
	mu      sync.Mutex
	changed *sync.Cond
	refuse  int // number of the next deliveries to refuse
	refused int
	records []record
}

// record is one log record as the receiver understood it.
type record struct {
	Tag   string
	Time  time.Time
	Body  any
	Attrs map[string]any
}

func newSink() *sink {
	s := &sink{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

func (s *sink) consume(_ context.Context, logs plog.Logs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse > 0 {
		s.refuse--
		s.refused++
		return errors.New("the pipeline is full")
	}
	for _, resource := range logs.ResourceLogs().All() {
		for _, scope := range resource.ScopeLogs().All() {
			for _, l := range scope.LogRecords().All() {
				r := record{Time: l.Timestamp().AsTime(), Body: l.Body().AsRaw(), Attrs: l.Attributes().AsRaw()}
				r.Tag, _ = r.Attrs["fluent.tag"].(string)
				delete(r.Attrs, "fluent.tag")
				s.records = append(s.records, r)
			}
		}
	}
	s.changed.Broadcast()
	return nil
}

// await returns the received records once there are at least n.
func (s *sink) await(n int) []record {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.records) < n {
		s.changed.Wait()
	}
	return append([]record(nil), s.records...)
}

// collector starts OpenTelemetry's receiver in front of s. stop ends it, as does the end of the
// test.
func collector(t *testing.T, endpoint string, s *sink) (stop func()) {
	t.Helper()
	factory := fluentforwardreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*fluentforwardreceiver.Config)
	config.ListenAddress = endpoint
	next, err := consumer.NewLogs(s.consume)
	if err != nil {
		t.Fatal(err)
	}
	r, err := factory.CreateLogs(t.Context(), receiver.Settings{
		ID: component.NewID(factory.Type()),
		TelemetrySettings: component.TelemetrySettings{
			Logger: zap.NewNop(), TracerProvider: trace.NewTracerProvider(), MeterProvider: metric.NewMeterProvider(), Resource: pcommon.NewResource(),
		},
	}, config, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// freePort returns a loopback address without a listener.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func logger(t *testing.T, server string, opts ...fluent.Option) *fluent.Logger {
	t.Helper()
	l, err := fluent.New([]string{server}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func closed(t *testing.T, l *fluent.Logger) {
	t.Helper()
	if err := l.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// inner and request are a typical record of a program.
type inner struct {
	Name string  `fluent:"name"`
	Cost float64 `fluent:"cost"`
}

type request struct {
	Message string         `fluent:"message"`
	Status  int            `fluent:"status"`
	Large   uint64         `fluent:"large"`
	OK      bool           `fluent:"ok"`
	Inner   *inner         `fluent:"inner"`
	List    []string       `fluent:"list"`
	Map     map[string]any `fluent:"map"`
}

// Records sent in every form arrive as posted.
func TestCollectorModes(t *testing.T) {
	at := time.Date(2026, 11, 22, 3, 4, 5, 123456789, time.UTC)
	f := func(network string, want time.Time, opts ...fluent.Option) {
		t.Helper()
		s := newSink()
		endpoint := freePort(t)
		if network == "unix" {
			endpoint = "unix://" + t.TempDir() + "/forward.sock"
		}
		collector(t, endpoint, s)
		l := logger(t, endpoint, append(opts, fluent.WithTagPrefix("app"))...)
		post := func(tag string, v any) {
			t.Helper()
			if err := l.PostWithTime(tag, at, v); err != nil {
				t.Error(err)
			}
		}
		post("access", request{
			Message: "hello", Status: 404, Large: 1 << 62, OK: true, Inner: &inner{"n", 0.5},
			List: []string{"a", "b"}, Map: map[string]any{"deep": map[string]any{"er": -7}},
		})
		post("access", map[string]any{"log": "text", "n": int64(-1 << 40), "nothing": nil})
		closed(t, l)
		wants := []record{
			{Tag: "app.access", Time: want, Body: "hello", Attrs: map[string]any{
				"status": int64(404), "large": int64(1 << 62), "ok": true, "inner": map[string]any{"name": "n", "cost": 0.5},
				"list": []any{"a", "b"}, "map": map[string]any{"deep": map[string]any{"er": int64(-7)}},
			}},
			{Tag: "app.access", Time: want, Body: "text", Attrs: map[string]any{"n": int64(-1 << 40), "nothing": nil}},
		}
		if got := s.await(2); !reflect.DeepEqual(got, wants) {
			t.Errorf("received %+v\nwant %+v", got, wants)
		}
	}
	for _, network := range []string{"tcp", "unix"} {
		for _, ack := range []bool{true, false} {
			f(network, at, fluent.WithAck(ack))
			f(network, at, fluent.WithAck(ack), fluent.WithCompression(fluent.Gzip))
			f(network, at, fluent.WithAck(ack), fluent.WithMode(fluent.Message))
			f(network, at.Truncate(time.Second), fluent.WithAck(ack), fluent.WithSeconds())
			f(network, at.Truncate(time.Second), fluent.WithAck(ack), fluent.WithSeconds(), fluent.WithMode(fluent.Message))
			f(network, at, fluent.WithAck(ack), fluent.WithKeepalive(false))
		}
	}
}

// post posts records with n = 0 to count-1 under one tag.
func post(t *testing.T, l *fluent.Logger, tag string, count int) {
	for n := range count {
		if err := l.Post(tag, map[string]any{"n": n, "text": "a line of some length, as logs have them"}); err != nil {
			t.Error(err)
			return
		}
	}
}

// missing counts the records of tags t0 to t(tags-1), n = 0 to count-1, that are missing in
// records, and the repeated ones.
func missing(records []record, tags, count int) (missing, repeated int) {
	seen := make(map[string]int)
	for _, r := range records {
		seen[fmt.Sprint(r.Tag, " ", r.Attrs["n"])]++
	}
	for tag := range tags {
		for n := range count {
			switch c := seen[fmt.Sprintf("t%d %d", tag, n)]; {
			case c == 0:
				missing++
			case c > 1:
				repeated += c - 1
			}
		}
	}
	return missing, repeated
}

// Several goroutines post, and batches are sent before earlier ones are acknowledged: every record
// arrives once.
func TestCollectorReceivesEveryRecord(t *testing.T) {
	const tags, count = 4, 5000
	f := func(opts ...fluent.Option) {
		t.Helper()
		s := newSink()
		endpoint := freePort(t)
		collector(t, endpoint, s)
		l := logger(t, endpoint, append(opts, fluent.WithBatchBytes(16<<10), fluent.WithFlushInterval(time.Millisecond))...)
		var posting sync.WaitGroup
		for tag := range tags {
			posting.Go(func() { post(t, l, fmt.Sprintf("t%d", tag), count) })
		}
		posting.Wait()
		closed(t, l)
		records := s.await(tags * count)
		if lost, repeated := missing(records, tags, count); lost > 0 || repeated > 0 {
			t.Errorf("%d missing, %d repeated", lost, repeated)
		}
	}
	f()
	f(fluent.WithCompression(fluent.Gzip))
	f(fluent.WithAck(false))
	f(fluent.WithMode(fluent.Message))
}

// The receiver closes the connection when its pipeline refuses a chunk: it is
// sent again.
func TestCollectorRefuses(t *testing.T) {
	const tags, count = 2, 1000
	s := newSink()
	s.refuse = 5
	endpoint := freePort(t)
	collector(t, endpoint, s)
	l := logger(t, endpoint, fluent.WithBatchBytes(4<<10), fluent.WithRetry(time.Millisecond, 10*time.Millisecond))
	for tag := range tags {
		post(t, l, fmt.Sprintf("t%d", tag), count)
	}
	closed(t, l)
	lost, repeated := missing(s.await(tags*count), tags, count)
	if lost > 0 || s.refused != 5 {
		t.Errorf("%d missing, %d repeated, %d refusals", lost, repeated, s.refused)
	}
}

// The collector starts after the program and is restarted under load: no record is lost.
func TestCollectorRestarts(t *testing.T) {
	const tags, count = 6, 1000
	s := newSink()
	endpoint := "unix://" + t.TempDir() + "/forward.sock"
	l := logger(t, endpoint, fluent.WithBatchBytes(4<<10), fluent.WithFlushInterval(time.Millisecond), fluent.WithRetry(time.Millisecond, 10*time.Millisecond))
	stop := func() {}
	for tag := range tags {
		post(t, l, fmt.Sprintf("t%d", tag), count)
		stop()
		stop = collector(t, endpoint, s)
		s.await(tag*count + 1)
	}
	closed(t, l)
	lost, repeated := missing(s.await(tags*count), tags, count)
	if lost > 0 {
		t.Errorf("%d missing, %d repeated", lost, repeated)
	}
}

// The receiver answers heartbeats by UDP.
func TestCollectorAnswersHeartbeat(t *testing.T) {
	s := newSink()
	endpoint := freePort(t)
	l := logger(t, endpoint, fluent.WithHeartbeat(fluent.UDPHeartbeat, 10*time.Millisecond), fluent.WithFlushInterval(0))
	events := l.Subscribe()
	if err := l.Post("t0", map[string]any{"n": 0}); err != nil {
		t.Fatal(err)
	}
	for e := range events {
		if e.Kind == fluent.Tripped {
			break
		}
	}
	collector(t, endpoint, s)
	for e := range events {
		if e.Kind == fluent.Reset {
			break
		}
		if e.Kind == fluent.Ready {
			t.Error("a batch was sent before a heartbeat was answered")
		}
	}
	closed(t, l)
	if lost, _ := missing(s.await(1), 1, 1); lost > 0 {
		t.Error("the record was not delivered")
	}
}
