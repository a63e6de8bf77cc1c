package telemetry

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"
)

// nativeCounts returns the counts of the native buckets of h by their upper bound, in seconds.
func nativeCounts(h *dto.Histogram) map[float64]uint64 {
	counts := map[float64]uint64{h.GetZeroThreshold(): h.GetZeroCount()}
	index, count, delta := int32(0), int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count += h.GetPositiveDelta()[delta]
			counts[math.Exp2(float64(index)/math.Exp2(float64(h.GetSchema())))] += uint64(count)
			index, delta = index+1, delta+1
		}
	}
	return counts
}

// gathered returns the state of the only histogram of r, as scraped.
func gathered(t testing.TB, r *Registry) *dto.Histogram {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(r)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 || len(families[0].GetMetric()) != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	return families[0].GetMetric()[0].GetHistogram()
}

// In both forms, each observation is in the first bucket whose bound is not below it.
func TestExposedHistograms(t *testing.T) {
	for name, tc := range map[string]struct {
		make    func(*Registry) *Histogram
		scale   time.Duration
		longest time.Duration
	}{
		"durations": {func(r *Registry) *Histogram { return r.Histogram("kasoku_a_seconds", "A.") }, 1, 64 * time.Second},
		"ages":      {func(r *Registry) *Histogram { return r.AgeHistogram("kasoku_a_seconds", "A.") }, 1000, 1 << 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				all := rapid.SliceOf(rapid.OneOf(
					rapid.Map(rapid.Int64Range(0, int64(2*tc.longest)), func(n int64) time.Duration { return time.Duration(n) }),
					rapid.Map(rapid.Float64Range(0, 44), func(p float64) time.Duration { return time.Duration(math.Exp2(p)) }),
					rapid.Map(rapid.SampledFrom(Buckets[:]), func(d time.Duration) time.Duration { return d * tc.scale }),
				)).Draw(rt, "durations")
				r := NewRegistry()
				h := tc.make(r)
				var sum time.Duration
				for _, d := range all {
					h.Observe(d)
					sum += d
				}
				got := gathered(t, r)
				if got.GetSampleCount() != uint64(len(all)) || math.Abs(got.GetSampleSum()-sum.Seconds()) > 1e-6 || len(got.GetBucket()) != len(Buckets) {
					rt.Fatalf("%d observations with the sum %s: got %v", len(all), sum, got)
				}
				for i, b := range got.GetBucket() {
					bound, want := Buckets[i]*tc.scale, uint64(0)
					for _, d := range all {
						if d <= bound {
							want++
						}
					}
					if b.GetUpperBound() != bound.Seconds() || b.GetCumulativeCount() != want {
						rt.Errorf("bucket %v, want %d below %s", b, want, bound)
					}
				}
				want := map[float64]uint64{got.GetZeroThreshold(): 0}
				for _, d := range all {
					bound := got.GetZeroThreshold()
					for i := 1.0; bound < min(d, tc.longest).Seconds() || d > tc.longest && bound <= tc.longest.Seconds(); i++ {
						bound = got.GetZeroThreshold() * math.Exp2(i/4)
					}
					want[bound]++
				}
				native := nativeCounts(got)
				for bound, n := range want {
					for b, m := range native {
						if math.Abs(b/bound-1) < 0.01 {
							n -= m
						}
					}
					if n != 0 {
						rt.Fatalf("native buckets %v, want %v", native, want)
					}
				}
			})
		})
	}
}

// A server that asks for native histograms gets them, others the text format.
func TestNegotiation(t *testing.T) {
	r := NewRegistry()
	r.Histogram("kasoku_a_seconds", "A.").Observe(time.Second)
	for accept, want := range map[string]string{
		"": "text/plain", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf",
	} {
		q := httptest.NewRequest("GET", "/metrics", nil)
		q.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		r.Handler().ServeHTTP(w, q)
		if got := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %d %s", accept, w.Code, got)
		}
	}
}
