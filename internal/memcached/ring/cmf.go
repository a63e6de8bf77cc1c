package ring

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
)

// The rings of Perl's Cache::Memcached::Fast with ketama_points, of the nginx module
// memcached_hash that reads values written by it, and, with 160 points, of nginx's own "hash
// ... consistent". Despite the name it differs from the MD5 ring that other clients call
// ketama: points and keys are hashed with CRC-32. Details:
//   - The address counts as it is written: "localhost:11211" and
//     "127.0.0.1:11211" make different rings. IPv6 addresses are written without
//     brackets in Perl ("::1:11211") and with them in nginx.
//   - The namespace is not hashed, unless hash_namespace is set.
//   - memcached_hash hashes the key as it is escaped for the wire.
//   - memcached_hash's weights are integers, divided by weight_scale: here they are
//     the quotients.
//   - A server that is down is not replaced by another.

// cmfLabel returns the text that a server's points begin with: host, zero, port. A socket's
// path has no port; nginx's "unix:" before it is not part of it.
func cmfLabel(label string) (string, error) {
	if path, ok := strings.CutPrefix(label, "unix:"); ok {
		return path + "\x00", nil
	}
	host, port := splitPort(label)
	return host + "\x00" + port, nil
}

// layCMF chains points: each is the hash of the label and the previous point.
func layCMF(r *Ring, p plan) error {
	return layChecksums(r, p, func(_, last uint32) uint32 { return last })
}

// layCMFLegacy numbers points: each is the hash of the label and its number.
// Cache::Memcached:: Fast before 0.14 and memcached_hash before 0.04 did so; it was changed
// because the servers' shares are uneven.
func layCMFLegacy(r *Ring, p plan) error {
	return layChecksums(r, p, func(i, _ uint32) uint32 { return i })
}

// layChecksums makes points from the CRC-32 of the label and a number, which follow derives
// from the point's index and the previous point (at first 0).
func layChecksums(r *Ring, p plan, follow func(i, last uint32) uint32) error {
	share := func(w float64) float64 { return math.Floor(float64(float64(p.points)*w) + 0.5) }
	sum := 0.0
	for _, w := range p.weights {
		sum += share(w)
	}
	if err := checkPoints(sum); err != nil {
		return err
	}
	points := make([]point, 0, int(sum))
	for s, label := range p.labels {
		base := crc32.ChecksumIEEE([]byte(label))
		var last uint32
		var number [4]byte
		for i := range uint32(share(p.weights[s])) {
			binary.LittleEndian.PutUint32(number[:], follow(i, last))
			last = crc32.Update(base, crc32.IEEETable, number[:])
			points = append(points, point{last, uint16(s)})
		}
	}
	var err error
	r.continuum, err = newContinuum(points)
	return err
}
