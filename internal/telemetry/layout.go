package telemetry

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// Buckets are the upper bounds of a histogram of durations, 1-2-5 per decade, from the microseconds
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

// A histogram is exposed in two forms: with the bounds of a layout, and as a native histogram of
// Prometheus, with schema 2: four buckets for each power of two, so that neighbouring bounds differ
// by 19 %. The cells in which it counts end at the bounds of both.
const (
	schema     = 2
	perPower   = 1 << schema
	powers     = 25 // from the upper bound of the bucket around zero to the last bound
	nativeSize = powers*perPower + 2
	cellCount  = nativeSize + len(Buckets) - 3 // both have bounds at 500 ms, 1 s and 2 s
)

// layout has the bounds of a kind of histogram.
type layout struct {
	zero    int                          // the upper bound of the native bucket around zero is 2^zero seconds
	bounds  [len(Buckets)]time.Duration  // of the classic buckets
	cells   [cellCount - 1]time.Duration // the upper bounds of all cells but the last
	start   [65]uint8                    // the cell of the shortest duration that takes this number of bits
	classic [cellCount]uint8             // the classic bucket of a cell
	native  [cellCount]uint8             // the native bucket of a cell: 0 is the one around zero; the last one is for all beyond the last bound
}

// The layouts: of durations, from 2 us to a minute, and of ages, which are a thousand times as long.
var (
	durations = newLayout(1, -19)
	ages      = newLayout(1000, -9)
)

func newLayout(scale time.Duration, zero int) *layout {
	l := &layout{zero: zero}
	var native [nativeSize - 1]time.Duration
	for i := range native {
		native[i] = time.Duration(math.Exp2(float64(zero)+float64(i)/perPower) * float64(time.Second))
	}
	for i, b := range Buckets {
		l.bounds[i] = b * scale
	}
	all := slices.Sorted(slices.Values(append(native[:], l.bounds[:]...)))
	copy(l.cells[:], slices.Compact(all))
	for c, bound := range l.cells {
		l.classic[c], l.native[c] = below(l.bounds[:], bound), below(native[:], bound)
	}
	for n := range l.start[1:] {
		l.start[n+1] = below(l.cells[:], time.Duration(1<<min(n, 62)))
	}
	l.classic[cellCount-1], l.native[cellCount-1] = uint8(len(l.bounds)), nativeSize-1
	return l
}

// below returns the number of bounds that are below d.
func below(bounds []time.Duration, d time.Duration) uint8 {
	i, _ := slices.BinarySearch(bounds, d)
	return uint8(i)
}

// cell returns the index of the first cell whose bound is not below d, which is not negative.
func (l *layout) cell(d time.Duration) int {
	n := bits.Len64(uint64(d))
	lo, hi := int(l.start[n]), int(l.start[n+1])
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if l.cells[mid] < d {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
