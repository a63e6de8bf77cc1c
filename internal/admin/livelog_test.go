package admin

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/live"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// openLog requests a live log, whose answer has begun when it returns.
func openLog(t *testing.T, base, query string) (lines *bufio.Reader, end func()) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/log?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "application/x-ndjson" {
		t.Fatalf("got %d, %s", resp.StatusCode, got)
	}
	return bufio.NewReader(resp.Body), func() { resp.Body.Close() }
}

func TestLiveLog(t *testing.T) {
	o, _ := example()
	var log live.Log
	base, sink := startLive(t, o, "", &log), log.Tap(telemetry.Discard())
	add := func(services ...string) {
		for _, name := range services {
			sink.Log(&telemetry.Record{Service: name, Status: 200})
		}
	}
	read := func(lines *bufio.Reader) string {
		t.Helper()
		line, err := lines.ReadString('\n')
		_, after, _ := strings.Cut(line, `"service":"`)
		name, _, _ := strings.Cut(after, `"`)
		if err != nil {
			return err.Error()
		}
		return name
	}
	all, endAll := openLog(t, base, "")
	some, _ := openLog(t, base, "q="+url.QueryEscape("service=b status>=200"))
	two, _ := openLog(t, base, "n=2")
	add("a", "b", "c")
	got := fmt.Sprint(read(all), read(all), read(all), " ", read(some), " ", read(two), read(two), " ", read(two))
	if got != "abc b ab EOF" {
		t.Errorf("got %s", got)
	}
	add("b", "d")
	if got := fmt.Sprint(read(all), read(all), read(some)); got != "bdb" {
		t.Errorf("got %s", got)
	}
	endAll()
	await.Until(t, func() bool { // its place is free
		r, err := log.Open(&live.Filter{})
		if err == nil {
			defer r.Close()
		}
		var others []*live.Reader
		for range live.MaxReaders - 2 { // beside some and r
			if o, err := log.Open(&live.Filter{}); err == nil {
				others = append(others, o)
			}
		}
		for _, o := range others {
			o.Close()
		}
		return len(others) == live.MaxReaders-2
	})
}

func TestLiveLogErrors(t *testing.T) {
	o, _ := example()
	var log live.Log
	base := startLive(t, o, "", &log)
	f := func(query string, status int, want string) {
		t.Helper()
		got, text := send(t, "GET", base+"/api/v1/log?"+query, "", nil)
		if got != status || !strings.Contains(text, want) {
			t.Errorf("%s: got %d %s; want %d, %s", query, got, text, status, want)
		}
	}
	f("q=tabel%3Da", 400, `q: there is no field \"tabel\" (did you mean \"table\"?)`)
	f("n=0", 400, `n is a number of records, not \"0\"`)
	f("n=x", 400, `n is a number of records, not \"x\"`)
	for range live.MaxReaders {
		if _, err := log.Open(&live.Filter{}); err != nil {
			t.Fatal(err)
		}
	}
	f("", 503, "too many readers of the log at a time: 16 are open")
}

// A reader that is too slow is sent the number of records that it has lost.
func TestLiveLogLost(t *testing.T) {
	o, _ := example()
	var log live.Log
	base, sink := startLive(t, o, "", &log), log.Tap(telemetry.Discard())
	lines, _ := openLog(t, base, "")
	record := &telemetry.Record{Path: bytes.Repeat([]byte("x"), 100_000)}
	const records = 1000 // more than the socket's and the reader's buffers take
	for range records {
		sink.Log(record)
	}
	got, lost := 0, 0
	for got+lost < records {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscanf(line, `{"lost":%d}`, &n); err == nil {
			lost += n
			continue
		}
		got++
	}
	if got+lost != records || lost == 0 || got == 0 {
		t.Errorf("%d lines, %d lost", got, lost)
	}
}

// Shutdown does not wait for readers.
func TestLiveLogShutdown(t *testing.T) {
	o, _ := example()
	s, err := Listen(Config{
		Listen: "127.0.0.1:0", Metrics: telemetry.NewRegistry(), Overview: func() Overview { return *o },
		Live: &live.Log{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	lines, _ := openLog(t, "http://"+s.Addr().String(), "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("with a reader: %v", err)
	}
	if line, err := lines.ReadString('\n'); line != "" || err != io.EOF {
		t.Errorf("the reader got %q, %v; want the answer's end", line, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
