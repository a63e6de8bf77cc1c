package telemetry

import (
	"testing"
	"time"
)

// TestSums adds the series of one service, and none of another or of a stage.
func TestSums(t *testing.T) {
	r := NewRegistry()
	for i, labels := range [][]string{{"service", "a", "class", "2xx"}, {"service", "a", "class", "5xx"}, {"service", "b", "class", "5xx"}} {
		r.Counter("kasoku_x_total", "X.", labels...).Add(1 << i)
		r.Histogram("kasoku_x_seconds", "X.", labels...).Observe(time.Duration(i+1) * time.Second)
	}
	r.Stage().Counter("kasoku_x_total", "X.", "service", "a", "class", "4xx").Inc()
	f := func(counters uint64, sum time.Duration, labels ...string) {
		t.Helper()
		h := r.SumHistograms("kasoku_x_seconds", labels...)
		var counts uint64
		for _, n := range h.Counts {
			counts += n
		}
		if n := r.SumCounters("kasoku_x_total", labels...); n != counters || h.Sum != sum || h.Count != counts {
			t.Errorf("%v: got %d, %s of %d in %d", labels, n, h.Sum, h.Count, counts)
		}
	}
	f(7, 6*time.Second)
	f(3, 3*time.Second, "service", "a")
	f(2, 2*time.Second, "class", "5xx", "service", "a")
	f(0, 0, "service", "c")
	if n := r.SumCounters("kasoku_absent_total"); n != 0 {
		t.Errorf("an absent family: %d", n)
	}
}
