package ring

import "math"

// peclBuckets is the number of places on PECL's ring.
const peclBuckets = 1024

// layPECL is PHP's memcache (the extension without the d) with hash_strategy consistent, and
// the nginx module consistent_hash, which uses addresses after resolution. Each unit of
// weight makes 160 points of "host:port-i"; then only the owners of 1024 places along the
// ring are kept, and a key's place is the remainder of its hash. memcache.prefix_static_key
// is hashed; the client has already replaced bytes up to the space in keys by "_".
func layPECL(r *Ring, p plan) error {
	if err := checkPoints(160 * p.total()); err != nil {
		return err
	}
	var points []point
	var text []byte
	for s, label := range p.labels {
		if isSocket(label) {
			label += ":0"
		}
		for i := range 160 * int(p.weights[s]) {
			text = numbered(text[:0], label, '-', i)
			points = append(points, point{p.pointHash.sum(text), uint16(s)})
		}
	}
	ring, err := newContinuum(points)
	if err != nil {
		return err
	}
	r.method = slotted
	const step = math.MaxUint32 / peclBuckets
	for b := range uint32(peclBuckets) {
		r.slots = append(r.slots, ring.points[ring.up(b*step)].server)
	}
	return nil
}
