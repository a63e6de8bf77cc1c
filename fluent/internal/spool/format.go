package spool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

const (
	formatVersion = 1

	segmentMagic     = "fluspool"
	segmentHeaderLen = 24

	recordMagic     = "\xf5FSP"
	recordHeaderLen = 28

	segmentSuffix = ".spool"
	lockName      = "lock"
	progressName  = "progress"

	maxSequence = 1 << 62
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func segmentName(seq uint64) string { return fmt.Sprintf("%016x%s", seq, segmentSuffix) }

// parseSegmentName accepts only results of segmentName.
func parseSegmentName(name string) (seq uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || seq == 0 || seq > maxSequence || segmentName(seq) != name {
		return 0, false
	}
	return seq, true
}

func putSegmentHeader(b []byte, seq uint64) {
	copy(b, segmentMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[12:], seq)
	binary.LittleEndian.PutUint32(b[20:], crc32.Checksum(b[:20], castagnoli))
}

// parseSegmentHeader returns the version of a valid header. An invalid one does not imply
// damage of the records after it.
func parseSegmentHeader(b []byte) (version uint32, ok bool) {
	if string(b[:8]) != segmentMagic || binary.LittleEndian.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[8:]), true
}

// recordHeader is the header of a payload.
type recordHeader struct {
	length  uint32
	records uint32
	index   uint32 // payloads before it in the segment
	before  uint32 // records before it in the segment
	sum     uint32 // the payload's
}

// size returns the size of header and payload.
func (h recordHeader) size() int64 { return recordHeaderLen + int64(h.length) }

// headerCodec has room for a header and its position, which the checksum covers. It is
// reused, because checksummed memory escapes to the heap.
type headerCodec struct{ b [recordHeaderLen + 16]byte }

func (c *headerCodec) sumAt(seq uint64, off int64) uint32 {
	const place = recordHeaderLen
	binary.LittleEndian.PutUint64(c.b[place:], seq)
	binary.LittleEndian.PutUint64(c.b[place+8:], uint64(off))
	sum := crc32.Update(0, castagnoli, c.b[:recordHeaderLen-4])
	return crc32.Update(sum, castagnoli, c.b[place:])
}

// encode returns the header's bytes, which are valid until the next call.
func (c *headerCodec) encode(h recordHeader, seq uint64, off int64) []byte {
	b := c.b[:recordHeaderLen]
	copy(b, recordMagic)
	for i, v := range [...]uint32{h.length, h.records, h.index, h.before, h.sum} {
		binary.LittleEndian.PutUint32(b[4+4*i:], v)
	}
	binary.LittleEndian.PutUint32(b[24:], c.sumAt(seq, off))
	return b
}

// decode parses b and reports whether it is a header for that position.
func (c *headerCodec) decode(b []byte, seq uint64, off int64) (h recordHeader, ok bool) {
	if string(b[:4]) != recordMagic {
		return h, false
	}
	copy(c.b[:], b[:recordHeaderLen])
	if binary.LittleEndian.Uint32(b[24:]) != c.sumAt(seq, off) {
		return h, false
	}
	u := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	h = recordHeader{length: u(4), records: u(8), index: u(12), before: u(16), sum: u(20)}
	return h, h.length <= maxPayloadBytes
}
