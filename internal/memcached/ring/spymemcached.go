package ring

import "slices"

// laySpymemcached is the ring of Java's spymemcached with its KetamaConnectionFactory: that
// of libmemcached, except that
//   - each server has 40 digests if no weights are configured, for any number of
//     servers;
//   - labels are Java's, see spymemcachedLabel, with the port even if it is
//     memcached's own;
//   - of points with the same value that of the later server is kept.
//
// spymemcached's default factory is modula with hash java, and its format LIBMEMCACHED for
// labels is libmemcached-ketama.
func laySpymemcached(r *Ring, p plan) error {
	weighted := slices.ContainsFunc(p.weights, func(w float64) bool { return w != 1 })
	total := float32(p.total())
	var points []point
	for s, label := range slices.Backward(p.labels) {
		n := 40
		if weighted {
			n = repetitions(float32(p.weights[s]), total, len(p.labels))
		}
		points = appendDigests(points, label, s, n)
	}
	var err error
	r.continuum, err = newContinuum(points)
	return err
}
