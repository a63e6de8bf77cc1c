package ring

import (
	"crypto/sha1"
	"encoding/binary"
	"math"
)

// layDalli is the ring of Ruby's dalli: points are the first four bytes, most significant
// first, of the SHA-1 of "host:port:i". Keys are hashed with CRC-32 and belong to the point
// before them, instead of the one behind. The namespace is hashed, with its colon. Keys of
// more than 250 characters have another name on the wire, which is not supported.
func layDalli(r *Ring, p plan) error {
	r.method = downward
	total := p.total()
	var points []point
	var text []byte
	for s, label := range p.labels {
		n := math.Floor(float64(len(p.labels)*160) * p.weights[s] / total)
		for i := range int(n) {
			text = numbered(text[:0], label, ':', i)
			digest := sha1.Sum(text)
			points = append(points, point{binary.BigEndian.Uint32(digest[:]), uint16(s)})
		}
	}
	var err error
	r.continuum, err = newContinuum(points)
	return err
}
