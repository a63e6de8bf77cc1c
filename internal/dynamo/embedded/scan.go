package embedded

import (
	"encoding/binary"
	"math/bits"
)

// scan answers a Scan.
func (c *call) scan() error {
	req, err := parseScan(c.body)
	if err != nil {
		return err
	}
	return c.read(&req)
}

func (r *reading) beginScan() error {
	if err := r.checkStartLength(); err != nil {
		return err
	}
	if r.x != nil {
		for i := range r.key.Len() {
			if err := r.checkStartPart(i); err != nil {
				return err
			}
		}
	}
	if err := r.checkSelect(); err != nil {
		return err
	}
	if err := r.checkStartKey(); err != nil {
		return err
	}
	r.setScanBounds()
	if err := r.setScanStart(); err != nil {
		return err
	}
	if err := checkScalars(r.t.info, r.req.Projection); err != nil {
		return err
	}
	return checkScalars(r.t.info, r.filterPaths)
}

// setScanBounds sets the bounds to the whole table or index, or to a segment of it.
func (r *reading) setScanBounds() {
	r.lower = appendIndex(r.lower[:0], r.t.id, r.number())
	r.upper = prefixEnd(r.upper[:0], r.lower)
	segment, segments := uint64(r.req.Segment), uint64(r.req.Segments)
	if segments == 0 {
		return
	}
	if segment+1 < segments {
		r.upper = binary.BigEndian.AppendUint64(append(r.upper[:0], r.lower...), firstHash(segment+1, segments))
	}
	r.lower = binary.BigEndian.AppendUint64(r.lower, firstHash(segment, segments))
}

// firstHash returns the first hash of a segment: 2^64*segment/segments, rounded up. Segments
// have equal sizes, and each hash belongs to one segment.
func firstHash(segment, segments uint64) uint64 {
	first, rest := bits.Div64(segment, 0, segments)
	if rest > 0 {
		first++
	}
	return first
}
