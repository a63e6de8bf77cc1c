package ring

import (
	"cmp"
	"math/bits"
	"slices"
)

// point is a value on the ring and its server.
type point struct {
	value  uint32
	server uint16
}

// continuum is a ring of points in ascending order, without duplicates.
//
// index divides the values into equal ranges, about as many as there are points:
// points[index[b]] is the first whose value is in range b or above. A look-up therefore
// starts within a point or two, for any number of points.
type continuum struct {
	points []point
	index  []uint32
	shift  uint8
}

// newContinuum returns the ring of points. Of points with the same value the first in the
// list is kept.
func newContinuum(points []point) (continuum, error) {
	if len(points) == 0 {
		return continuum{}, wrong(FieldServers, "no server has a point on the ring: weights are too small")
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	points = slices.CompactFunc(points, func(a, b point) bool { return a.value == b.value })
	c := continuum{points: points}
	width := bits.Len(uint(len(points) - 1)) // 2^width ranges
	c.shift = uint8(32 - width)
	c.index = make([]uint32, 1<<width+1)
	next := uint32(0)
	for b := range c.index {
		for next < uint32(len(points)) && uint64(points[next].value)>>c.shift < uint64(b) {
			next++
		}
		c.index[b] = next
	}
	return c, nil
}

// from returns the index of the first point that is not below h, or the number of points if
// there is none.
func (c *continuum) from(h uint32) uint32 {
	b := uint64(h) >> c.shift
	lo, hi := c.index[b], c.index[b+1]
	for lo < hi {
		mid := (lo + hi) / 2
		if c.points[mid].value < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// up returns the index of the first point that is not below h; past the end it is the
// lowest.
func (c *continuum) up(h uint32) uint32 {
	i := c.from(h)
	if i == uint32(len(c.points)) {
		return 0
	}
	return i
}

// down returns the index of the last point that is not above h; before the first it is the
// highest.
func (c *continuum) down(h uint32) uint32 {
	i := c.from(h)
	switch {
	case i < uint32(len(c.points)) && c.points[i].value == h:
		return i
	case i == 0:
		return uint32(len(c.points)) - 1
	}
	return i - 1
}

func (c *continuum) place(h, i uint32) Place {
	p := c.points[i]
	return Place{uint64(h), uint64(p.value), int(p.server)}
}

// checkPoints refuses a ring of n points if that is too many.
func checkPoints(n float64) error {
	if n > MaxPoints {
		return wrong(FieldPoints, "points and weights make %.0f points, and there may be %d", n, MaxPoints)
	}
	return nil
}
