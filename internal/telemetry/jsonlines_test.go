package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// buffer is a writer that can be held up and read while the sink runs.
type buffer struct {
	mu     sync.Mutex
	buf    bytes.Buffer
	hold   chan struct{} // when not nil: a write waits until it is closed
	fail   error
	closed bool
}

func (b *buffer) Write(p []byte) (int, error) {
	if b.hold != nil {
		<-b.hold
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return 0, b.fail
	}
	return b.buf.Write(p)
}

func (b *buffer) Close() error { b.closed = true; return nil }

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func sample() *Record {
	return &Record{
		Time:      time.Date(2026, 11, 20, 12, 34, 56, 7_900_000, time.FixedZone("", 9*3600)),
		Duration:  1500 * time.Microsecond,
		Origin:    1200 * time.Microsecond,
		Service:   "orders",
		RequestID: []byte("r-1"),
		Operation: "GetItem",
		Table:     []byte("orders"),
		Route:     []byte("/api/*"),
		Path:      []byte("/a"),
		KeyHash:   0xabc,
		Status:    200,
		Decision:  Miss,
		Reason:    "not-stored",
		Error:     "a \"cause\"",
		Principal: []byte("reader"),
		BytesIn:   321,
		BytesOut:  654,
		Client:    netip.MustParseAddrPort("[::1]:4711"),
		UserAgent: []byte("aws-sdk-go/2"),
		TLS:       true,
		Node:      "a",
		TraceID:   []byte("4bf92f3577b34da6a3ce929d0e0e4736"),
	}
}

func TestLine(t *testing.T) {
	f := func(r *Record, fields []string, want string) {
		t.Helper()
		got := string(SelectFields(fields).Append(nil, r))
		if got != want+"\n" {
			t.Fatalf("line is\n%s; want\n%s", got, want)
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("not JSON: %s", got)
		}
	}
	f(sample(), nil, `{"time":"2026-11-20T03:34:56.007Z","request_id":"r-1","service":"orders","operation":"GetItem",`+
		`"table":"orders","route":"/api/*","path":"/a","key":"0000000000000abc","status":200,"decision":"miss","reason":"not-stored","error":"a \"cause\"","principal":"reader","duration_us":1500,"origin_us":1200,`+
		`"bytes_in":321,"bytes_out":654,"client":"[::1]:4711","user_agent":"aws-sdk-go/2","tls":true,"node":"a","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`)
	f(&Record{Service: "s", Status: 400, Decision: Local}, nil,
		`{"time":"0001-01-01T00:00:00.000Z","service":"s","status":400,"decision":"local","duration_us":0,"bytes_in":0,"bytes_out":0,"tls":false}`)
	f(sample(), []string{"status", "time"}, `{"time":"2026-11-20T03:34:56.007Z","status":200}`)
	f(&Record{}, []string{"table"}, `{}`)
}

func TestEachFieldAlone(t *testing.T) {
	for _, field := range Fields {
		line := SelectFields([]string{field.Name}).Append(nil, sample())
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if _, ok := m[field.Name]; !ok || len(m) != 1 {
			t.Errorf("only %s is selected: got %s", field.Name, line)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := string(appendText(nil, []byte(in)))
		if got != want+"," {
			t.Fatalf("%q is written as %s; want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != string([]rune(in)) {
			t.Fatalf("%s reads back as %q, %v", want, back, err)
		}
	}
	f("", `""`)
	f(`a"b\c`, `"a\"b\\c"`)
	f("a\nb\x1b[31m\x00", `"a\u000ab\u001b[31m\u0000"`)
	f("\x7f\u0085", `"\u007f\u0085"`)
	f("加速 \U0001F680", `"加速 `+"\U0001F680"+`"`)
	f("\u2028", `"\u2028"`)
	f("a\xffb", `"a\ufffdb"`)
	f("\xff\xfe", `"\ufffd\ufffd"`)
	f("\xe5\x8a", `"\ufffd\ufffd"`)
}

func FuzzText(f *testing.F) {
	f.Add([]byte("a\"\xff\u2028\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got := appendText(nil, in)
		var back string
		if err := json.Unmarshal(got[:len(got)-1], &back); err != nil {
			t.Fatalf("%q is written as %s: %v", in, got, err)
		}
		if want := string([]rune(string(in))); back != want {
			t.Fatalf("%q reads back as %q; want %q", in, back, want)
		}
		if bytes.ContainsFunc(got, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("%q is written with a control character: %q", in, got)
		}
	})
}

func TestSinkWritesAfterLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &buffer{}
		j := NewJSONLines(w, 0, "status")
		j.Log(sample())
		j.Log(sample())
		synctest.Wait()
		if got := w.String(); got != "" {
			t.Errorf("written before the linger: %s", got)
		}
		time.Sleep(linger)
		synctest.Wait()
		if got, want := w.String(), "{\"status\":200}\n{\"status\":200}\n"; got != want {
			t.Errorf("after the linger: %q; want %q", got, want)
		}
		j.Log(sample())
		if err := j.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if !w.closed || strings.Count(w.String(), "\n") != 3 {
			t.Errorf("after Close: closed %v, %q", w.closed, w.String())
		}
		j.Log(sample())
		if got, want := j.Stats(), (LogStats{Written: 3, Dropped: 1}); got != want {
			t.Errorf("stats %+v; want %+v", got, want)
		}
	})
}

func TestSinkDropsWhenWriterHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &buffer{hold: make(chan struct{})}
		j := NewJSONLines(w, 1, "status") // one record a shard
		j.Log(sample())
		synctest.Wait() // now the writer hangs with that record
		for range 1000 {
			j.Log(sample())
		}
		if got := j.Stats().Dropped; got < 1000-uint64(shardCount) || got >= 1000 {
			t.Errorf("got %d dropped records of 1000", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := j.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close while the writer hangs: %v", err)
		}
		close(w.hold)
		if err := j.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		s := j.Stats()
		if s.Written+s.Dropped != 1001 || uint64(strings.Count(w.String(), "\n")) != s.Written {
			t.Errorf("stats %+v do not add up to 1001", s)
		}
	})
}

func TestSinkCountsRefusedRecords(t *testing.T) {
	w := &buffer{fail: io.ErrShortWrite}
	j := NewJSONLines(w, 0)
	j.Log(sample())
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := j.Stats(), (LogStats{Failed: 1}); got != want {
		t.Errorf("stats %+v; want %+v", got, want)
	}
}

func TestSinkUnderLoadLosesNothingSilently(t *testing.T) {
	w := &buffer{}
	j := NewJSONLines(w, 64, "status", "service")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				j.Log(sample())
			}
		})
	}
	wg.Wait()
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := j.Stats()
	lines := strings.Split(strings.TrimSuffix(w.String(), "\n"), "\n")
	if s.Written+s.Dropped != 16000 || uint64(len(lines)) != s.Written {
		t.Errorf("stats %+v, %d lines", s, len(lines))
	}
	for _, l := range lines {
		if l != `{"service":"orders","status":200}` {
			t.Fatalf("torn line %q", l)
		}
	}
}

type counting struct{ n int }

func (c *counting) Log(*Record)                 { c.n++ }
func (c *counting) Close(context.Context) error { return nil }

func TestSampleLogsItsShare(t *testing.T) {
	f := func(share float64, low, high int) {
		t.Helper()
		c := &counting{}
		s := Sample(c, share)
		for range 10000 {
			s.Log(sample())
		}
		if c.n < low || c.n > high {
			t.Errorf("share %v: got %d of 10000 records, want %d to %d", share, c.n, low, high)
		}
	}
	f(0, 0, 0)
	f(-1, 0, 0)
	f(1, 10000, 10000)
	f(0.25, 2500-int(shardCount), 2500)
	f(0.001, 10-int(shardCount), 10)
}

func TestLogDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		return // the detector makes sync.Pool drop items at random
	}
	j := NewJSONLines(discardCloser{}, 1<<20)
	s := Sample(j, 0.5)
	r := sample()
	r.UserAgent = []byte("加速 \x01")
	for range 1 << 16 { // grow the buffers
		s.Log(r)
	}
	if n := testing.AllocsPerRun(1000, func() { s.Log(r) }); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
	if err := j.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

type discardCloser struct{}

func (discardCloser) Write(p []byte) (int, error) { return len(p), nil }
func (discardCloser) Close() error                { return nil }

func TestFileFollowsRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	l, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		t.Helper()
		if _, err := l.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	wantContent := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), got, err, want)
		}
	}
	write("1\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("2\n") // within a second of the last check: still the old file
	l.checked = l.checked.Add(-rotationCheck)
	write("3\n")
	wantContent(path+".1", "1\n2\n")
	wantContent(path, "3\n")
	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err != nil {
		t.Fatal(err)
	}
	write("4\n")
	wantContent(path, "4\n")
	if err := l.Reopen(); err != nil { // nothing moved
		t.Fatal(err)
	}
	write("5\n")
	wantContent(path, "4\n5\n")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("6\n")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if err := l.Reopen(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Reopen after Close: %v", err)
	}
}

func TestFileKeepsWritingWhenItCannotReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := OpenFile(filepath.Join(dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	moved := dir + ".moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err == nil {
		t.Error("Reopen without the directory must fail")
	}
	if _, err := l.Write([]byte("kept\n")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(moved, "access.log")); string(got) != "kept\n" {
		t.Errorf("the old file holds %q", got)
	}
}

func BenchmarkLog(b *testing.B) {
	j := NewJSONLines(discardCloser{}, 1<<20)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := sample()
		for pb.Next() {
			j.Log(r)
		}
	})
	if err := j.Close(b.Context()); err != nil && !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
}
