package ring

import (
	"crypto/md5"
	"encoding/binary"
	"strconv"
)

// The rings of libmemcached, which PHP's memcached, pylibmc and many others use, and of
// twemproxy, which has adopted the weighted one.
//
// There the hash of keys and the distribution are separate settings, and the result depends
// on their order:
//   - libmemcached-ketama is KETAMA_WEIGHTED (PHP's OPT_LIBKETAMA_COMPATIBLE,
//     pylibmc's ketama_weighted), which sets both hashes to MD5. CONSISTENT makes
//     the same ring as soon as a server with a weight above 1 is added; but then
//     keys keep the hash that was set, by default one_at_a_time.
//   - libmemcached-consistent is CONSISTENT without weights (pylibmc's ketama).
//     Setting the hash after the servers changes that of keys only: the points
//     keep the former one, which is Config.PointHash.
//   - libmemcached-ketama-spy is CONSISTENT_KETAMA_SPY, the same with other
//     labels.
//   - hash crc has 15 bits (and so has twemproxy's crc32), too few for a ring:
//     all keys are below 32768 and most have the same server.
//   - OPT_PREFIX_KEY is not hashed unless HASH_WITH_PREFIX_KEY is set. pylibmc's
//     key_prefix is.
//
// twemproxy hashes keys by its hash setting, which must be md5 to agree with libmemcached;
// the names of nodes are their labels.

// pointsPerServer is the number of points of a server without weights.
const pointsPerServer = 100

// layUnweighted makes a point of each of "label-0" to "label-99".
func layUnweighted(r *Ring, p plan) error {
	points := make([]point, 0, pointsPerServer*len(p.labels))
	var text []byte
	for s, label := range p.labels {
		for i := range pointsPerServer {
			text = numbered(text[:0], label, '-', i)
			points = append(points, point{p.pointHash.sum(text), uint16(s)})
		}
	}
	var err error
	r.continuum, err = newContinuum(points)
	return err
}

// layWeightedMD5 makes four points of the MD5 of each "label-i". The server's weight
// determines the number of digests.
func layWeightedMD5(r *Ring, p plan) error {
	total := float32(p.total())
	var points []point
	for s, label := range p.labels {
		points = appendDigests(points, label, s, repetitions(float32(p.weights[s]), total, len(p.labels)))
	}
	var err error
	r.continuum, err = newContinuum(points)
	return err
}

// repetitions returns the number of digests of a server, 40 times its share of all weight.
// Each step is rounded to single precision as in C, with results that exact arithmetic would
// not have: each of 25 equal servers has 39. The conversions keep the compiler from fusing
// operations.
func repetitions(weight, total float32, servers int) int {
	share := float32(weight / total)
	all := float32(share * 160)
	quarter := float32(all / 4)
	scaled := float32(quarter * float32(servers))
	return int(float32(float64(scaled) + 1e-10))
}

// appendDigests appends the points of n digests: each has four, least significant byte
// first.
func appendDigests(points []point, label string, server, n int) []point {
	var text []byte
	for i := range n {
		text = numbered(text[:0], label, '-', i)
		digest := md5.Sum(text)
		for at := 0; at < len(digest); at += 4 {
			points = append(points, point{binary.LittleEndian.Uint32(digest[at:]), uint16(server)})
		}
	}
	return points
}

// numbered appends label, a separator and i.
func numbered(dst []byte, label string, separator byte, i int) []byte {
	dst = append(dst, label...)
	dst = append(dst, separator)
	return strconv.AppendInt(dst, int64(i), 10)
}
