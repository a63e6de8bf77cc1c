package ring

import (
	"math"
	"slices"
)

// Distributions that take a hash's remainder. Labels play no part in them; the
// order of servers does. They are
//
//   - crc-buckets: Perl's Cache::Memcached, Cache::Memcached::Fast without
//     ketama_points, nginx's "hash" without "consistent" (which counts each
//     address of a name as a server). A server's weight is how often it stands
//     in the table;
//   - modula: libmemcached's default, without weights, and with hash java
//     spymemcached's default;
//   - twemproxy-modula, with weights;
//   - pecl-standard: PHP's memcache with hash_strategy standard, and with hash
//     crc32 python-memcached. It is crc-buckets but for keys whose hash is 0;
//   - crc32-mod: gomemcache, which has no weights and all 32 bits of the CRC.

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

// layBuckets is laySlots for whole weights. Fractions are known only to
// Cache::Memcached::Fast, and there aren't what they seem: there are only whole
// buckets, so that of 2.5, 1 and 0.5 the last one gets no key.
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

// rangeEnds cuts the 32-bit numbers into a range for each server. Every server
// that is added takes its part from all before it; roundings add up, so it has
// to be done in this order.
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

// bucketServer finds the range in which bucket b begins: one is added since a
// range's end is its own.
func bucketServer(ends []uint32, b int, total float64) uint16 {
	start := uint32(float64(float64(float64(b)/total)*math.MaxUint32)+0.5) + 1
	for s, end := range ends {
		if start <= end {
			return uint16(s)
		}
	}
	return 0
}
