package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/history"
	"github.com/kasoku/kasoku/internal/telemetry/live"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// counted is a service whose decisions a test counts.
type counted struct {
	fake
	mu     sync.Mutex
	asked  int
	counts map[telemetry.Decision]uint64
}

func (c *counted) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	r := c.report
	r.Decisions = map[telemetry.Decision]uint64{}
	for d, n := range c.counts {
		r.Decisions[d] = n
	}
	return r
}

func (c *counted) count(d telemetry.Decision, n uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[d] += n
}

// newCounted returns a service, and the events of a process that has it.
func newCounted() (*counted, *events) {
	c := &counted{fake: fake{name: "a", report: Report{Origin: Origin{InFlight: 3, Queued: 1}}}, counts: map[telemetry.Decision]uint64{}}
	return c, newEvents(func() Overview {
		return Overview{Version: "v1", Now: time.Now(), Services: []Mounted{{Service: c, Accepting: true, Connections: 7, Traffic: func() Traffic {
			c.mu.Lock()
			defer c.mu.Unlock()
			n := c.counts[telemetry.Miss]
			t := Traffic{Errors: n, Latency: telemetry.Snapshot{Count: n}}
			t.Latency.Counts[2] = n
			return t
		}}}}
	})
}

// next returns the next event of a reader.
func next(t *testing.T, reader chan []byte) (e Event) {
	t.Helper()
	text, ok := <-reader
	if !ok {
		t.Fatal("the reader was dropped")
	}
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEvents checks that events have the requests of one second each, are computed once for all
// readers, and not without any.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, e := newCounted()
		c.count(telemetry.Hit, 1000)
		one, _ := e.open()
		two, _ := e.open()
		synctest.Wait()
		c.count(telemetry.Hit, 3)
		c.count(telemetry.Miss, 1)
		c.count(telemetry.Local, 5)
		got := next(t, one)
		ratio, latency, none := 0.75, make([]uint64, len(telemetry.Buckets)+1), make([]uint64, len(telemetry.Buckets)+1)
		latency[2] = 1
		want := Event{
			Version: "v1", Time: got.Time, Seconds: 1, Ready: true,
			Services: []ServiceEvent{{
				Service: "a", Requests: history.Requests{Hits: 3, Misses: 1, Other: 5, Errors: 1}, HitRatio: &ratio,
				Decisions:   map[string]uint64{"hit": 3, "miss": 1, "local": 5},
				Connections: 7, InFlight: 3, Queued: 1, Latency: latency, Origin: none,
			}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if other := next(t, two); !reflect.DeepEqual(other, want) {
			t.Errorf("another reader got %+v", other)
		}
		if quiet := next(t, one).Services[0]; len(quiet.Decisions) > 0 || quiet.HitRatio != nil {
			t.Errorf("without requests: %+v", quiet)
		}
		e.close(one)
		e.close(two)
		synctest.Wait()
		c.mu.Lock()
		asked := c.asked
		c.mu.Unlock()
		time.Sleep(10 * eventStep)
		if asked != c.asked || asked != 3 {
			t.Errorf("%d reports were made for two events, then %d", asked, c.asked)
		}
		again, _ := e.open()
		synctest.Wait()
		if quiet := next(t, again).Services[0]; len(quiet.Decisions) > 0 {
			t.Errorf("a new reader got %+v", quiet)
		}
		e.close(again)
	})
}

// TestSlowEventReader checks that a reader that takes nothing is dropped, and others are not.
func TestSlowEventReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := newCounted()
		slow, _ := e.open()
		fast, _ := e.open()
		for range eventBacklog + 1 {
			next(t, fast)
		}
		synctest.Wait()
		left := 0
		for range slow {
			left++
		}
		if left != eventBacklog {
			t.Errorf("the slow reader got %d events", left)
		}
		next(t, fast)
		e.close(slow)
		e.close(fast)
	})
}

func TestEventReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, e := newCounted()
		var all []chan []byte
		for range maxEventReaders {
			reader, err := e.open()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, reader)
		}
		if _, err := e.open(); err != errEventReaders {
			t.Errorf("got %v", err)
		}
		for _, reader := range all {
			e.close(reader)
		}
		if reader, err := e.open(); err != nil {
			t.Error(err)
		} else {
			e.close(reader)
		}
	})
}

// TestEventStream reads an event over HTTP, fills the places of all readers, and shuts the server
// down meanwhile.
func TestEventStream(t *testing.T) {
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
	url := "http://" + s.Addr().String() + "/api/v1/events"
	open := func() *bufio.Reader {
		resp, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
			t.Fatalf("got %d, %s", resp.StatusCode, got)
		}
		return bufio.NewReader(resp.Body)
	}
	first := open()
	for range maxEventReaders - 1 {
		open()
	}
	await.Until(t, func() bool {
		status, text := send(t, "GET", url, "", nil)
		return status == 503 && strings.Contains(text, "too many readers of events at a time: 16 are open")
	})
	var event string
	for !strings.HasPrefix(event, "data: ") {
		if event, err = first.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	var e Event
	if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &e); err != nil || len(e.Services) != 2 || e.Version != "v1.2.3" {
		t.Errorf("got %s, %v", event, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("with readers: %v", err)
	}
	if _, err := io.ReadAll(first); err != nil {
		t.Errorf("the stream did not end: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
