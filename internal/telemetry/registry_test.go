package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: status %d: %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "kasoku_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestScrape(t *testing.T) {
	r := NewRegistry()
	r.Counter("kasoku_requests_total", "Requests.", "service", "a", "decision", "hit").Add(3)
	r.Counter("kasoku_requests_total", "Requests.", "service", "b", "decision", "hit").Inc()
	r.Gauge("kasoku_bytes", "Bytes.", func() float64 { return 1.5 })
	r.CounterFunc("kasoku_evictions_total", "Evictions.", func() float64 { return 7 }, "service", "a")
	h := r.Histogram("kasoku_wait_seconds", "Wait.", "service", "a")
	h.Observe(15 * time.Microsecond)
	h.Observe(time.Hour)
	got := scrape(t, r)
	for _, want := range []string{
		`kasoku_requests_total{decision="hit",service="a"} 3`,
		`kasoku_requests_total{decision="hit",service="b"} 1`,
		`kasoku_bytes 1.5`,
		`kasoku_evictions_total{service="a"} 7`,
		`kasoku_wait_seconds_bucket{service="a",le="1e-05"} 0`,
		`kasoku_wait_seconds_bucket{service="a",le="2e-05"} 1`,
		`kasoku_wait_seconds_bucket{service="a",le="50"} 1`,
		`kasoku_wait_seconds_bucket{service="a",le="+Inf"} 2`,
		`kasoku_wait_seconds_count{service="a"} 2`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("scrape lacks %s; it has\n%s", want, got)
		}
	}
}

func TestSameSeriesIsSameCounter(t *testing.T) {
	r := NewRegistry()
	one := r.Counter("kasoku_a_total", "A.", "x", "1")
	if one != r.Counter("kasoku_a_total", "A.", "x", "1") {
		t.Error("one series has two counters")
	}
	if one == r.Counter("kasoku_a_total", "A.", "x", "2") {
		t.Error("two series share a counter")
	}
}

func TestUnregisterDropsOneService(t *testing.T) {
	r := NewRegistry()
	r.Counter("kasoku_a_total", "A.", "service", "old", "code", "200").Inc()
	r.Counter("kasoku_a_total", "A.", "service", "new", "code", "200").Inc()
	r.Gauge("kasoku_g", "G.", func() float64 { return 1 }, "service", "old")
	r.Unregister("service", "old")
	if got, want := scrape(t, r), "kasoku_a_total{code=\"200\",service=\"new\"} 1\n"; got != want {
		t.Errorf("scrape: got %q, want %q", got, want)
	}
}

func TestStage(t *testing.T) {
	r := NewRegistry()
	kept := r.Counter("kasoku_kept_total", "Kept.")
	r.Gauge("kasoku_g", "G.", func() float64 { return 1 })
	build := func() *Registry {
		s := r.Stage()
		if s.Counter("kasoku_kept_total", "Kept.") != kept {
			t.Error("a stage does not return the counters of its parent")
		}
		s.Counter("kasoku_new_total", "New.").Inc()
		s.Gauge("kasoku_g", "G.", func() float64 { return 2 })
		return s
	}
	before := "kasoku_g 1\nkasoku_kept_total 0\n"
	s := build()
	if got := scrape(t, r); got != before {
		t.Errorf("before the commit: %q; want %q", got, before)
	}
	s.Rollback()
	if got := scrape(t, r); got != before {
		t.Errorf("after a rollback: %q; want %q", got, before)
	}
	s = build()
	s.Commit()
	s.Counter("kasoku_late_total", "Late.").Inc()
	after := "kasoku_g 2\nkasoku_kept_total 0\nkasoku_late_total 1\nkasoku_new_total 1\n"
	if got := scrape(t, r); got != after {
		t.Errorf("after the commit: %q; want %q", got, after)
	}
}

// A service may build its parts on a stage of the stage on which it is built.
func TestStageOfAStage(t *testing.T) {
	r := NewRegistry()
	kept := r.Counter("kasoku_kept_total", "Kept.")
	outer := r.Stage()
	inner := outer.Stage()
	if inner.Counter("kasoku_kept_total", "Kept.") != kept {
		t.Error("a stage does not return the counters of its parent's parent")
	}
	inner.Counter("kasoku_new_total", "New.").Inc()
	inner.Commit()
	inner.Counter("kasoku_early_total", "Early.").Inc()
	if got, want := scrape(t, r), "kasoku_kept_total 0\n"; got != want {
		t.Errorf("before the outer commit: %q; want %q", got, want)
	}
	outer.Commit()
	inner.Counter("kasoku_late_total", "Late.").Inc()
	if got, want := scrape(t, r), "kasoku_early_total 1\nkasoku_kept_total 0\nkasoku_late_total 1\nkasoku_new_total 1\n"; got != want {
		t.Errorf("after it: %q; want %q", got, want)
	}
}

func TestRegistryPanics(t *testing.T) {
	f := func(what string, do func(r *Registry)) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s must panic", what)
			}
		}()
		r := NewRegistry()
		r.Counter("kasoku_a_total", "A.")
		do(r)
	}
	f("a foreign name", func(r *Registry) { r.Counter("requests_total", "A.") })
	f("another kind", func(r *Registry) { r.Histogram("kasoku_a_total", "A.") })
	f("another kind in a stage", func(r *Registry) { r.Stage().Histogram("kasoku_a_total", "A.") })
	f("half a label", func(r *Registry) { r.Counter("kasoku_b_total", "B.", "x") })
	f("a commit of no stage", func(r *Registry) { r.Commit() })
	f("a second commit", func(r *Registry) { s := r.Stage(); s.Commit(); s.Commit() })
}
