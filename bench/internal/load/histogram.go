package load

import (
	"math/bits"
	"time"
)

const (
	subBits    = 6  // 64 buckets an octave: values are exact to within 1.6 %
	maxBits    = 41 // about 36 minutes; longer values count as that
	numBuckets = (maxBits - subBits + 1) << subBits
)

// Histogram counts durations in buckets whose width grows with the value, so that quantiles
// of microseconds and of seconds have the same relative precision. It is not safe for
// concurrent use: every loop has its own, and Merge combines them after the run.
type Histogram struct {
	count   uint64
	max     uint64
	buckets [numBuckets]uint64
}

// Observe counts one duration; a negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	v := uint64(max(d, 0))
	h.count++
	h.max = max(h.max, v)
	h.buckets[bucketOf(v)]++
}

// Merge adds the counts of other.
func (h *Histogram) Merge(other *Histogram) {
	h.count += other.count
	h.max = max(h.max, other.max)
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
}

// Count returns the number of observed durations.
func (h *Histogram) Count() uint64 { return h.count }

// Max returns the longest observed duration, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Quantile returns the duration that a share q (0 to 1) of all observations does not exceed:
// the middle of its bucket, limited by Max. It returns 0 without observations.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := max(uint64(q*float64(h.count)+0.5), 1)
	var seen uint64
	for i, n := range h.buckets {
		if seen += n; seen >= rank {
			return time.Duration(min(middleOf(i), h.max))
		}
	}
	return h.Max()
}

// bucketOf returns the number of v's bucket. Below 128 a bucket is one nanosecond wide, and
// the width doubles with each octave above.
func bucketOf(v uint64) int {
	if v < 2<<subBits {
		return int(v)
	}
	v = min(v, 1<<maxBits-1)
	octave := bits.Len64(v) - subBits - 1
	return octave<<subBits + int(v>>octave)
}

func middleOf(bucket int) uint64 {
	if bucket < 2<<subBits {
		return uint64(bucket)
	}
	octave := bucket>>subBits - 1
	low := uint64(bucket&(1<<subBits-1)|1<<subBits) << octave
	return low + 1<<octave/2
}
