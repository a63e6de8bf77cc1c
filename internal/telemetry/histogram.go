package telemetry

import (
	"sync/atomic"
	"time"
)

// Histogram counts durations. Like [Counter] it is spread over cache lines; create one with
// [Registry.Histogram], [Registry.AgeHistogram] or [NewHistogram].
type Histogram struct {
	layout *layout
	lines  []histogramLine
}

type histogramLine struct {
	counts [cellCount]atomic.Uint64 // the last one: longer than every bound
	sum    atomic.Uint64            // nanoseconds
	_      [1024 - 8*(cellCount+1)]byte
}

// NewHistogram returns a histogram of durations outside of any registry.
func NewHistogram() *Histogram { return newHistogram(durations) }

func newHistogram(l *layout) *Histogram {
	return &Histogram{layout: l, lines: make([]histogramLine, shardCount)}
}

// Observe counts d; a negative d, which only a stepped clock can cause, counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	line := &h.lines[shard()]
	line.counts[h.layout.cell(d)].Add(1)
	line.sum.Add(uint64(d))
}

// cells returns the counts of all cells, and the sum.
func (h *Histogram) cells() (counts [cellCount]uint64, sum time.Duration) {
	for i := range h.lines {
		line := &h.lines[i]
		for c := range line.counts {
			counts[c] += line.counts[c].Load()
		}
		sum += time.Duration(line.sum.Load())
	}
	return counts, sum
}

// Snapshot is the content of a histogram of durations at a moment.
type Snapshot struct {
	Count  uint64
	Sum    time.Duration
	Counts [len(Buckets) + 1]uint64 // by [Buckets]; the last one has no bound
}

// Snapshot sums the lines. Count is always the sum of Counts.
func (h *Histogram) Snapshot() Snapshot {
	counts, sum := h.cells()
	s := Snapshot{Sum: sum}
	for c, n := range counts {
		s.Counts[h.layout.classic[c]] += n
		s.Count += n
	}
	return s
}

// Add adds what another snapshot has counted.
func (s *Snapshot) Add(o *Snapshot) {
	s.Count += o.Count
	s.Sum += o.Sum
	for i, n := range o.Counts {
		s.Counts[i] += n
	}
}

// Quantile returns the duration below which the share p of the durations is, interpolated within
// its bucket, or the greatest bound if it is beyond all of them; false if there are none.
func (s *Snapshot) Quantile(p float64) (time.Duration, bool) {
	if s.Count == 0 {
		return 0, false
	}
	rank, below, from := p*float64(s.Count), 0.0, time.Duration(0)
	for i, to := range Buckets {
		n := float64(s.Counts[i])
		if n > 0 && below+n >= rank {
			return from + time.Duration(float64(to-from)*max(0, rank-below)/n), true
		}
		below, from = below+n, to
	}
	return from, true
}
