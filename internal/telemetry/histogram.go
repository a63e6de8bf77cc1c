package telemetry

import (
	"sync/atomic"
	"time"
)

// Buckets are the upper bounds of every histogram, 1-2-5 per decade, from the microseconds
// of a hit to the minute after which no answer is awaited.
var Buckets = [...]time.Duration{
	2 * time.Microsecond, 5 * time.Microsecond,
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2 * time.Second, 5 * time.Second,
	10 * time.Second, 20 * time.Second, 50 * time.Second,
}

// Histogram counts durations in [Buckets]. Like [Counter] it is spread over cache lines;
// create one with [Registry.Histogram] or [NewHistogram].
type Histogram struct {
	lines []histogramLine
}

type histogramLine struct {
	counts [len(Buckets) + 1]atomic.Uint64 // the last one: longer than every bound
	sum    atomic.Uint64                   // nanoseconds
	_      [256 - 8*(len(Buckets)+2)]byte
}

// NewHistogram returns a histogram outside of any registry.
func NewHistogram() *Histogram {
	return &Histogram{lines: make([]histogramLine, shardCount)}
}

// Observe counts d; a negative d, which only a stepped clock can cause, counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	line := &h.lines[shard()]
	line.counts[bucket(d)].Add(1)
	line.sum.Add(uint64(d))
}

// bucket returns the index of the first bound that is not below d.
func bucket(d time.Duration) int {
	lo, hi := 0, len(Buckets)
	for lo < hi {
		mid := (lo + hi) / 2
		if Buckets[mid] < d {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Snapshot is the content of a histogram at a moment.
type Snapshot struct {
	Count  uint64
	Sum    time.Duration
	Counts [len(Buckets) + 1]uint64 // per bucket; the last one has no bound
}

// Snapshot sums the lines. Count is always the sum of Counts.
func (h *Histogram) Snapshot() Snapshot {
	var s Snapshot
	for i := range h.lines {
		line := &h.lines[i]
		for b := range line.counts {
			n := line.counts[b].Load()
			s.Counts[b] += n
			s.Count += n
		}
		s.Sum += time.Duration(line.sum.Load())
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
