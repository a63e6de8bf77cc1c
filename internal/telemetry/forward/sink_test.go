package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/fluent"
	"github.com/kasoku/kasoku/fluent/forwardtest"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func sample() *telemetry.Record {
	return &telemetry.Record{
		Time:      time.Date(2026, 11, 20, 12, 34, 56, 7_900_001, time.FixedZone("", 9*3600)),
		Duration:  1500 * time.Microsecond,
		Origin:    1200 * time.Microsecond,
		Service:   "orders",
		RequestID: []byte("r-1"),
		Operation: "GetItem",
		Table:     []byte("orders"),
		Path:      []byte("/a"),
		KeyHash:   0xabc,
		Status:    200,
		Decision:  telemetry.Miss,
		Reason:    "uri-miss", Error: "a cause", Principal: []byte("reader"),
		BytesIn:   321,
		BytesOut:  654,
		Client:    netip.MustParseAddrPort("[::1]:4711"),
		UserAgent: []byte("aws-sdk-go/2"),
		TLS:       true,
		Node:      "a",
		TraceID:   []byte("4bf92f3577b34da6a3ce929d0e0e4736"),
	}
}

// lines collects JSON lines.
type lines struct{ bytes.Buffer }

func (*lines) Close() error { return nil }

// asJSON returns r as in the log in JSON lines, without the time.
func asJSON(t *rapid.T, r *telemetry.Record, fields []string) map[string]any {
	var out lines
	j := telemetry.NewJSONLines(&out, 0, fields...)
	j.Log(r)
	if err := j.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&out)
	d.UseNumber()
	m := map[string]any{}
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for name, v := range m {
		if n, ok := v.(json.Number); ok {
			m[name], _ = n.Int64()
		}
	}
	delete(m, "time")
	return m
}

// TestSameFieldsAsJSONLines: for any record and choice of fields, both forms of the log are
// equivalent.
func TestSameFieldsAsJSONLines(t *testing.T) {
	names := []string{}
	for _, f := range telemetry.Fields {
		names = append(names, f.Name)
	}
	e := new(event)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 0, 40)
		number := rapid.IntRange(0, math.MaxInt)
		r := &telemetry.Record{
			Time:      time.Unix(rapid.Int64Range(0, 1<<32-1).Draw(t, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")),
			Duration:  time.Duration(number.Draw(t, "duration")),
			Origin:    time.Duration(rapid.SampledFrom([]int{0, 999, 5_000_000}).Draw(t, "origin")),
			Service:   rapid.StringMatching(`[a-z]{1,10}`).Draw(t, "service"),
			RequestID: text.Draw(t, "id"), Table: text.Draw(t, "table"), Route: text.Draw(t, "route"), Path: text.Draw(t, "path"), UserAgent: text.Draw(t, "agent"),
			Operation: rapid.SampledFrom([]string{"", "GetItem"}).Draw(t, "operation"),
			KeyHash:   rapid.Uint64().Draw(t, "key"),
			Status:    rapid.SampledFrom([]int{0, 200, 503}).Draw(t, "status"),
			Decision:  telemetry.Decision(rapid.IntRange(0, 20).Draw(t, "decision")),
			BytesIn:   number.Draw(t, "in"), BytesOut: number.Draw(t, "out"),
			TLS: rapid.Bool().Draw(t, "tls"),
		}
		if rapid.Bool().Draw(t, "client") {
			r.Client = netip.MustParseAddrPort("192.0.2.1:5")
		}
		fields := rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID[string]).Draw(t, "fields")
		e.fill(telemetry.SelectFields(fields), r)
		b, err := e.record.MarshalMsg(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, left, err := msgp.ReadMapStrIntfBytes(b, nil)
		if err != nil || len(left) > 0 {
			t.Fatalf("not a map: %v", err)
		}
		for name, v := range got {
			if n, ok := v.(uint64); ok {
				got[name] = int64(n)
			}
		}
		if want := asJSON(t, r, fields); !reflect.DeepEqual(got, want) {
			t.Fatalf("record %v; JSON line %v", got, want)
		}
		if !e.time.Equal(r.Time) {
			t.Fatalf("time %v; want %v", e.time, r.Time)
		}
	})
}

// logged collects the log messages of a sink.
type logged struct {
	mu      sync.Mutex
	changed sync.Cond
	text    string
}

func newLogged() *logged {
	l := new(logged)
	l.changed.L = &l.mu
	return l
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text += string(p)
	l.changed.Broadcast()
	return len(p), nil
}

// wait returns when text was logged, and discards everything before.
func (l *logged) wait(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if _, after, ok := strings.Cut(l.text, text); ok {
			l.text = after
			return
		}
		l.changed.Wait()
	}
}

// config returns a configuration for r, which may be down.
func config(r *forwardtest.Receiver, spill string) Config {
	return Config{
		Servers: []string{"tcp://" + r.Address()}, Tag: "k.access", Spill: spill, SpillMax: 1 << 20,
		Options: []fluent.Option{fluent.WithFlushInterval(time.Millisecond), fluent.WithRetry(time.Millisecond, 5*time.Millisecond)},
		Log:     slog.New(slog.DiscardHandler),
	}
}

func open(t *testing.T, c Config) *Sink {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t *testing.T, s *Sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// number logs a record identified by n.
func number(s *Sink, n int) {
	r := sample()
	r.Status = n
	s.Log(r)
}

// numbers returns the numbers of the received records, without repetitions.
func numbers(r *forwardtest.Receiver) (list []int64) {
	for _, e := range r.Events() {
		list = append(list, e.Record["status"].(int64))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func upTo(n int) (list []int64) {
	for i := range n {
		list = append(list, int64(i+1))
	}
	return list
}

func TestSend(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	s := open(t, config(r, ""))
	s.Log(sample())
	mustClose(t, s)
	events := r.Events()
	if len(events) != 1 {
		t.Fatalf("got %d events", len(events))
	}
	want := map[string]any{
		"request_id": "r-1", "service": "orders", "operation": "GetItem", "table": "orders", "path": "/a", "key": "0000000000000abc",
		"status": int64(200), "decision": "miss", "reason": "uri-miss", "error": "a cause", "principal": "reader", "duration_us": int64(1500), "origin_us": int64(1200),
		"bytes_in": int64(321), "bytes_out": int64(654), "client": "[::1]:4711", "user_agent": "aws-sdk-go/2", "tls": true, "node": "a", "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	}
	if e := events[0]; e.Tag != "k.access" || !e.Time.Equal(sample().Time) || !e.Nano || !reflect.DeepEqual(e.Record, want) {
		t.Errorf("event: %+v", e)
	}
	if got := s.Stats(); got != (telemetry.LogStats{Written: 1}) {
		t.Errorf("stats: %+v", got)
	}
	s.Log(sample())
	if got := s.Stats(); got != (telemetry.LogStats{Written: 1, Dropped: 1}) {
		t.Errorf("stats after a record logged too late: %+v", got)
	}
}

// TestServerDown: records logged while the server is down arrive when it is up again, and
// records not sent at the end arrive after the next start.
func TestServerDown(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	out := newLogged()
	c := config(r, t.TempDir())
	c.Log = slog.New(slog.NewTextHandler(out, nil))
	s := open(t, c)
	number(s, 1)
	r.Wait(t, 1)
	r.Stop()
	number(s, 2)
	out.wait("server is down")
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	r.Wait(t, 2)
	out.wait("server is up again")
	r.Stop()
	number(s, 3)
	number(s, 4)
	out.wait("server is down")
	mustClose(t, s)
	atEnd := s.Stats() // the server may have closed before it acknowledged the second
	if got := atEnd; got.Spilled < 2 || got.Written+uint64(got.Spilled) != 4 || got.Failed != 0 || got.Dropped != 0 || got.SpillBytes == 0 || got.Trouble == "" {
		t.Errorf("stats at the end: %+v", got)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	s = open(t, c)
	number(s, 5)
	mustClose(t, s)
	if got := numbers(r); !slices.Equal(got, upTo(5)) {
		t.Errorf("got records %v", got)
	}
	if got := s.Stats(); got != (telemetry.LogStats{Written: uint64(atEnd.Spilled) + 1}) {
		t.Errorf("stats after the restart: %+v", got)
	}
}

// TestServerDownWithoutDirectory: without a directory, records that can't be sent at the end
// are lost, counted and reported by the error.
func TestServerDownWithoutDirectory(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	r.Stop()
	s := open(t, config(r, ""))
	number(s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var unsent *fluent.UnsentError
	if err := s.Close(ctx); !errors.As(err, &unsent) || unsent.Records != 1 {
		t.Errorf("Close: %v", err)
	}
	if got := s.Stats(); got.Failed != 1 || got.Written != 0 {
		t.Errorf("stats: %+v", got)
	}
}

// TestMemoryLimit: records that exceed memory are dropped and counted, and Log still returns.
func TestMemoryLimit(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	r.Stop()
	c := config(r, "")
	c.Options = append(c.Options, fluent.WithMemory(64<<10))
	s := open(t, c)
	for n := range 2000 {
		number(s, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(ctx) // they can't be delivered
	if got := s.Stats(); got.Dropped == 0 || got.Failed == 0 || got.Dropped+got.Failed != 2000 {
		t.Errorf("stats: %+v", got)
	}
}

// TestHandover: a sink replaces one with the same directory, and no record is lost.
func TestHandover(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	r.Stop()
	c := config(r, t.TempDir())
	first := open(t, c)
	number(first, 1)
	if _, err := New(c); err == nil {
		t.Fatal("two sinks have one directory")
	}
	second := Prepare(c)
	number(second, 2)
	if got := second.Stats(); got.Pending != 1 {
		t.Errorf("stats before Open: %+v", got)
	}
	closed := make(chan error)
	go func() { closed <- second.Close(context.Background()) }() // waits for Open
	mustClose(t, first)
	if err := second.Open(); err != nil {
		t.Fatal(err)
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	third := open(t, c)
	number(third, 3)
	mustClose(t, third)
	if got := numbers(r); !slices.Equal(got, upTo(3)) {
		t.Errorf("got records %v", got)
	}
}

// TestHandoverWithoutDirectory: if a directory becomes unusable, records are only kept in
// memory.
func TestHandoverWithoutDirectory(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	c := config(r, t.TempDir())
	holder := open(t, c)
	defer mustClose(t, holder)
	s := Prepare(c)
	number(s, 1)
	if err := s.Open(); err == nil || !strings.Contains(err.Error(), "in memory only") {
		t.Errorf("Open: %v", err)
	}
	mustClose(t, s)
	if got := numbers(r); !slices.Equal(got, upTo(1)) {
		t.Errorf("got records %v", got)
	}
}

// TestCloseWithoutOpen: waiting records are bounded, and dropped if Close is called before Open.
func TestCloseWithoutOpen(t *testing.T) {
	r := forwardtest.New(t, forwardtest.Options{})
	s := Prepare(config(r, ""))
	for range maxWaiting + 2 {
		number(s, 1)
	}
	if got := s.Stats(); got.Pending != maxWaiting || got.Dropped != 2 {
		t.Errorf("stats: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	if got := s.Stats(); got.Pending != 0 || got.Dropped != maxWaiting+2 {
		t.Errorf("stats after Close: %+v", got)
	}
	if err := s.Open(); err != nil {
		t.Errorf("Open after Close: %v", err)
	}
	number(s, 1)
	if got := s.Stats(); got.Dropped != maxWaiting+3 {
		t.Errorf("stats at the end: %+v", got)
	}
}

func TestWrongConfig(t *testing.T) {
	if _, err := New(Config{Servers: []string{"http://x"}, Tag: "k"}); err == nil {
		t.Error("an invalid server was accepted")
	}
}

func TestLogDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		return // the detector makes sync.Pool drop items at random
	}
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("away") }
	s := open(t, Config{
		Servers: []string{"tcp://127.0.0.1:1"}, Tag: "k.access", Log: slog.New(slog.DiscardHandler),
		Options: []fluent.Option{fluent.WithDial(away), fluent.WithRetry(time.Minute, time.Minute)},
	})
	r := sample()
	r.UserAgent = []byte("加速 \xff")
	for range 1000 {
		s.Log(r)
	}
	if n := testing.AllocsPerRun(5000, func() { s.Log(r) }); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Close(ctx) // they can't be delivered
	if got := s.Stats(); got.Dropped != 0 || got.Failed != 6001 {
		t.Errorf("stats: %+v", got)
	}
}

func BenchmarkLog(b *testing.B) {
	away := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("away") }
	s, err := New(Config{
		Servers: []string{"tcp://127.0.0.1:1"}, Tag: "k.access", Log: slog.New(slog.DiscardHandler),
		Options: []fluent.Option{fluent.WithDial(away), fluent.WithRetry(time.Minute, time.Minute), fluent.WithOverflow(fluent.DropOldest)},
	})
	if err != nil {
		b.Fatal(err)
	}
	r := sample()
	b.ReportAllocs()
	for b.Loop() {
		s.Log(r)
	}
}
