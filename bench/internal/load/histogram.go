package load

import (
	"math/bits"
	"time"
)

const (
	subBits    = 6  // 64 buckets an octave: a value is known to within 1.6 %
	maxBits    = 41 // about 36 minutes; longer is counted as that
	numBuckets = (maxBits - subBits + 1) << subBits
)

// Histogram counts durations in buckets whose width grows with the value, so
// that a quantile of microseconds and one of seconds are equally exact.
// It is not safe for concurrent use: every loop fills its own, and Merge joins
// them when the run is over.
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

// Merge adds what other has counted.
func (h *Histogram) Merge(other *Histogram) {
	h.count += other.count
	h.max = max(h.max, other.max)
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
}

// Count is the number of durations observed.
func (h *Histogram) Count() uint64 { return h.count }

// Max is the longest duration observed, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Quantile is the duration that a share q (0 to 1) of all observations does
// not exceed: the middle of its bucket, and never more than Max. Zero when
// nothing was observed.
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

// bucketOf numbers the buckets without a gap: below 128 a bucket is one
// nanosecond wide, and its width doubles with each octave above.
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
