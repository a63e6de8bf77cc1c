package history

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// source has the totals that a history collects.
type source struct {
	mu  sync.Mutex
	all []Totals
}

func (s *source) collect() []Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Totals(nil), s.all...)
}

// count adds requests to a service.
func (s *source) count(i int, hits, misses uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[i].Hits += hits
	s.all[i].Misses += misses
	s.all[i].Latency.Counts[3] += hits
	s.all[i].Origin.Counts[9] += misses
}

// start runs a history of services in a bubble.
func start(t *testing.T, services ...string) (*History, *source) {
	s := &source{}
	for _, name := range services {
		s.all = append(s.all, Totals{Service: name})
	}
	h := New(s.collect)
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { h.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		run.Wait()
	})
	return h, s
}

// expect compares the hits of each point of a span, and the whole.
func expect(t *testing.T, h *History, service string, span time.Duration, want string) {
	t.Helper()
	got, ok := h.Since(service, span)
	var text strings.Builder
	var sum uint64
	for _, p := range got.Points {
		fmt.Fprintf(&text, "%g:%d ", p.Seconds, p.Hits)
		sum += p.Hits
	}
	if !ok || text.String() != want+" " || got.Total.Hits != sum || got.Latency.Count != sum {
		t.Errorf("%s: got %s, %t, %d hits in all; want %s", span, &text, ok, got.Total.Hits, want)
	}
}

func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := start(t, "a", "b")
		time.Sleep(4 * time.Second)
		s.count(0, 3, 1)
		expect(t, h, "a", Hour, "4:3")
		expect(t, h, "a", Day, "4:3")
		time.Sleep(8 * time.Second)
		s.count(0, 2, 0)
		expect(t, h, "a", Hour, "10:3 2:2")
		expect(t, h, "a", Day, "12:5")
		expect(t, h, "b", Hour, "10:0 2:0")
		time.Sleep(DayStep)
		s.count(0, 7, 0)
		expect(t, h, "a", Day, "300:5 12:7")
		p, _ := h.Since("a", Day)
		if q, ok := p.Origin.Quantile(1); p.Total.HitRatio == nil || *p.Total.HitRatio != 12.0/13 || !ok || q != telemetry.Buckets[9] || p.Points[1].Origin != nil {
			t.Errorf("got %+v, %s", p.Total, q)
		}
		if _, ok := h.Since("c", Hour); ok {
			t.Error("there is a service c")
		}
	})
}

// TestBounds fills both rings and more: a service takes constant memory.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := start(t, "a")
		time.Sleep(time.Second)
		for range int(2 * Day / Step) {
			s.count(0, 1, 1)
			time.Sleep(Step)
		}
		time.Sleep(time.Second)
		hour, _ := h.Since("a", Hour)
		day, _ := h.Since("a", Day)
		if len(hour.Points) != 361 || hour.Total.Hits != 360 || len(day.Points) != 289 || day.Total.Hits != 8640 {
			t.Errorf("hour: %d points, %d hits; day: %d points, %d hits", len(hour.Points), hour.Total.Hits, len(day.Points), day.Total.Hits)
		}
		for i := 1; i < 360; i++ {
			if gap := hour.Points[i].Time.Sub(hour.Points[i-1].Time); gap != Step {
				t.Fatalf("a gap of %s before %s", gap, hour.Points[i].Time)
			}
		}
		a := h.services["a"]
		if size := uintptr(cap(a.hour.all)+cap(a.day.all)) * unsafe.Sizeof(interval{}); size > 200_000 {
			t.Errorf("%d bytes", size)
		}
	})
}

// TestServices checks services that are added, removed and added again with counters at zero.
func TestServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := start(t, "a")
		s.count(0, 100, 0)
		time.Sleep(Step + time.Second)
		s.mu.Lock()
		s.all = []Totals{{Service: "b"}, {Service: "a"}}
		s.mu.Unlock()
		s.count(0, 7, 0)
		s.count(1, 5, 0)
		expect(t, h, "a", Hour, "10:100 1:5")
		expect(t, h, "b", Hour, "1:7")
		time.Sleep(Step)
		expect(t, h, "a", Hour, "10:100 10:5 1:0")
		s.mu.Lock()
		s.all = s.all[:1]
		s.mu.Unlock()
		time.Sleep(Step)
		if _, ok := h.Since("a", Hour); ok || len(h.services) != 1 {
			t.Errorf("%d services, a: %t", len(h.services), ok)
		}
		expect(t, h, "b", Day, "21:7")
	})
}

// TestConcurrentReaders reads while intervals are added: an interval has no figures of another one.
func TestConcurrentReaders(t *testing.T) {
	s := &source{all: []Totals{{Service: "a"}}}
	h := New(s.collect)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				s.count(0, 1, 0)
				h.step()
				if got, _ := h.Since("a", Hour); got.Total.Hits > 800 {
					t.Errorf("%d hits", got.Total.Hits)
				}
			}
		})
	}
	all.Wait()
	if h.at.IsZero() || h.services["a"].base.Hits != 800 {
		t.Errorf("%d hits", h.services["a"].base.Hits)
	}
}
