package telemetry

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// exposed is the state of a histogram for a scrape: with classic buckets, and with native ones for
// servers that ask for them.
type exposed struct {
	desc   *prometheus.Desc
	values []string // of the labels
	h      *Histogram
}

// Desc returns the description.
func (e *exposed) Desc() *prometheus.Desc { return e.desc }

// Write adds the state to m.
func (e *exposed) Write(m *dto.Metric) error {
	l := e.h.layout
	counts, sum := e.h.cells()
	var classic [len(Buckets) + 1]uint64
	native := map[int]int64{} // without the one around zero
	var total, zero uint64
	for c, n := range counts {
		total += n
		classic[l.classic[c]] += n
		if b := int(l.native[c]); b == 0 {
			zero += n
		} else if n > 0 {
			native[l.zero*perPower+b] += int64(n)
		}
	}
	threshold := math.Exp2(float64(l.zero))
	// Its spans and deltas are made by the library. It does not have both forms.
	n, err := prometheus.NewConstNativeHistogram(e.desc, total, sum.Seconds(), native, nil, zero, schema, threshold, time.Time{}, e.values...)
	if err != nil {
		return err
	}
	if err := n.Write(m); err != nil {
		return err
	}
	m.Histogram.CreatedTimestamp = nil
	var below uint64
	for i, bound := range l.bounds {
		below += classic[i]
		upper, n := bound.Seconds(), below
		m.Histogram.Bucket = append(m.Histogram.Bucket, &dto.Bucket{UpperBound: &upper, CumulativeCount: &n})
	}
	return nil
}
