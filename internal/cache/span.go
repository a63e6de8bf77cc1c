package cache

import (
	"math/bits"
	"time"
)

// span is a duration in 16 bits: milliseconds as a number of 11 bits, shifted to the left. Up to
// 2 s it is exact to the millisecond, beyond that it is too long by less than a thousandth.
type span uint16

const spanBits = 11 // of the number; the upper 5 bits are the shift

// spanOf returns the shortest span of at least d, or of 50 years.
func spanOf(d time.Duration) span {
	n := uint64(min(max(0, d), forever)+time.Millisecond-1) / uint64(time.Millisecond)
	shift := max(0, bits.Len64(n)-spanBits)
	if n = (n + 1<<shift - 1) >> shift; n == 1<<spanBits {
		n, shift = n/2, shift+1
	}
	return span(shift<<spanBits) | span(n)
}

// duration returns the duration of s.
func (s span) duration() time.Duration {
	return time.Duration(s&(1<<spanBits-1)) << (s >> spanBits) * time.Millisecond
}
