package telemetry

import (
	"sync"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestCounterAddsUpOverGoroutines(t *testing.T) {
	c := NewCounter()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				c.Inc()
			}
			c.Add(5)
		})
	}
	wg.Wait()
	if got := c.Value(); got != 8*1005 {
		t.Fatalf("Value() = %d; want %d", got, 8*1005)
	}
}

func TestHistogramBuckets(t *testing.T) {
	f := func(d time.Duration, want int) {
		t.Helper()
		h := NewHistogram()
		h.Observe(d)
		s := h.Snapshot()
		if s.Count != 1 || s.Counts[want] != 1 {
			t.Fatalf("Observe(%s) is in %v; want it in bucket %d", d, s.Counts, want)
		}
		if s.Sum != max(d, 0) {
			t.Fatalf("Observe(%s): sum %s", d, s.Sum)
		}
	}
	f(-time.Second, 0)
	f(0, 0)
	f(2*time.Microsecond, 0)
	f(2*time.Microsecond+1, 1)
	f(time.Millisecond, 8)
	f(50*time.Second, len(Buckets)-1)
	f(time.Hour, len(Buckets))
}

func TestCountingDoesNotAllocate(t *testing.T) {
	if race.Enabled {
		return // the detector makes sync.Pool drop items at random
	}
	c, h := NewCounter(), NewHistogram()
	if n := testing.AllocsPerRun(1000, func() { c.Inc(); h.Observe(time.Millisecond) }); n != 0 {
		t.Fatalf("%v allocations per count", n)
	}
}

func BenchmarkCounter(b *testing.B) {
	c := NewCounter()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c.Inc()
		}
	})
}

// TestQuantile checks quantiles at the bounds of buckets, between them and beyond the last one.
func TestQuantile(t *testing.T) {
	f := func(p float64, want time.Duration, observed ...time.Duration) {
		t.Helper()
		h := NewHistogram()
		for _, d := range observed {
			h.Observe(d)
		}
		s := h.Snapshot()
		if got, ok := s.Quantile(p); got != want || ok != (len(observed) > 0) {
			t.Errorf("%v of %v: got %v, %v, want %v", p, observed, got, ok, want)
		}
	}
	f(0.5, 0)
	f(1, 2*time.Microsecond, time.Microsecond)
	f(0.5, time.Microsecond, time.Microsecond, time.Microsecond)
	f(0.5, 5*time.Millisecond, 4*time.Millisecond, 40*time.Millisecond)
	f(0.75, 35*time.Millisecond, 4*time.Millisecond, 40*time.Millisecond)
	f(0, 2*time.Millisecond, 4*time.Millisecond, 40*time.Millisecond)
	f(0.99, 50*time.Second, time.Hour)
}

func BenchmarkHistogram(b *testing.B) {
	h := NewHistogram()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h.Observe(123 * time.Microsecond)
		}
	})
}
