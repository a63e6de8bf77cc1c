package ring

import (
	"math"
	"slices"
)

// Distributions by a hash's remainder. They ignore labels and depend on the order of
// servers:
//
//   - crc-buckets: Perl's Cache::Memcached, Cache::Memcached::Fast without
//     ketama_points, nginx's "hash" without "consistent" (which counts each
//     address of a name as a server). A server occurs in the table as often as its
//     weight;
//   - modula: libmemcached's default, without weights, and with hash java
//     spymemcached's default;
//   - twemproxy-modula, with weights;
//   - pecl-standard: PHP's memcache with hash_strategy standard, and with hash
//     crc32 python-memcached. It is crc-buckets except for keys whose hash is 0;
//   - crc32-mod: gomemcache, which has no weights and uses all 32 bits of the CRC.

// laySlots repeats each server by its weight, in order.
func laySlots(r *Ring, p plan) error {
	if n := p.total(); n > MaxSlots {
		return wrong(FieldServers, "weights make %.0f slots, and there may be %d", n, MaxSlots)
	}
	r.method = slotted
	for s, w := range p.weights {
		for range int(w) {
			r.slots = append(r.slots, uint16(s))
		}
	}
	return nil
}

// layBuckets is laySlots for integer weights. Only Cache::Memcached::Fast supports
// fractions, with an effect that differs from its documentation: buckets are whole, so that
// of 2.5, 1 and 0.5 the last one has no key.
func layBuckets(r *Ring, p plan) error {
	total := p.total()
	if total > 1<<15 {
		return wrong(FieldServers, "weights add up to %v, and a hash of 15 bits reaches %d buckets", total, 1<<15)
	}
	fractional := func(w float64) bool { return w != math.Trunc(w) }
	if !slices.ContainsFunc(p.weights, fractional) {
		return laySlots(r, p)
	}
	buckets := int(total + 0.5)
	if buckets == 0 {
		return wrong(FieldServers, "weights add up to %v, and it takes 0.5 to make a bucket", total)
	}
	r.method = slotted
	ends := rangeEnds(p.weights)
	for b := range buckets {
		r.slots = append(r.slots, bucketServer(ends, b, total))
	}
	return nil
}

// rangeEnds divides the 32-bit numbers into a range for each server. Each server that is
// added takes a part of all ranges before it; rounding errors accumulate, so the order
// matters.
func rangeEnds(weights []float64) []uint32 {
	var ends []uint32
	total := 0.0
	for _, w := range weights {
		total += w
		for i, end := range ends {
			ends[i] = uint32(float64(end) - float64(float64(end)*float64(w/total)))
		}
		ends = append(ends, math.MaxUint32)
	}
	return ends
}

// bucketServer returns the range in which bucket b begins. One is added because a range
// includes its end.
func bucketServer(ends []uint32, b int, total float64) uint16 {
	start := uint32(float64(float64(float64(b)/total)*math.MaxUint32)+0.5) + 1
	for s, end := range ends {
		if start <= end {
			return uint16(s)
		}
	}
	return 0
}
