package lists

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// recordHead is the length of a record's head.
const recordHead = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is the head of a record. It has its own checksum, so that its length is reliable: a
// damaged length could otherwise make the rest of the file look truncated.
type head struct {
	length uint32 // of the body
	owned  bool   // the body begins with an owner
	offset uint32 // of the record within the write that it is a part of
	sum    uint32 // of the body
}

// ownedBit marks the length of a body that begins with an owner.
const ownedBit = 1 << 31

// appendRecord appends the record of a body that begins with an owner. at is its place in
// the file, and back is its offset within its write.
func appendRecord(dst, body []byte, at, back int64) []byte {
	return appendHeaded(dst, body, uint32(len(body))|ownedBit, at, back)
}

func appendHeaded(dst, body []byte, length uint32, at, back int64) []byte {
	start := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, length)
	dst = binary.BigEndian.AppendUint32(dst, uint32(min(back, math.MaxUint32)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(body, castagnoli))
	dst = binary.BigEndian.AppendUint32(dst, headSum(dst[start:], at))
	return append(dst, body...)
}

// headSum returns the checksum of a head. It covers the record's place, so that a copy of a
// record elsewhere isn't valid.
func headSum(b []byte, at int64) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(at))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, b[:recordHead-4])
}

// readHead decodes a head. It returns false if it is invalid.
func readHead(b []byte, at int64) (h head, ok bool) {
	if len(b) < recordHead || binary.BigEndian.Uint32(b[recordHead-4:]) != headSum(b, at) {
		return head{}, false
	}
	length := binary.BigEndian.Uint32(b)
	h = head{length &^ ownedBit, length&ownedBit != 0, binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
	return h, h.length > 0 && h.length <= maxBytes+maxOwner
}

// records reads the records of a file.
type records struct {
	in       *bufio.Reader
	at, size int64 // position of in, and size of the file
}

var errDamaged = errors.New("a list is damaged, and others were written behind it; restore the file, or move it away and restart the clients")

// next reads a list. At the end of the file it returns nil. If the rest of the file is a
// single write that a crash has truncated, it also returns nil and doesn't advance at.
func (r *records) next() (*list, error) {
	if r.at == r.size {
		return nil, nil
	}
	h, ok, err := r.head(r.at)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, r.checkLastWrite(r.at + 1)
	}
	if r.size-r.at-recordHead < int64(h.length) {
		return nil, nil
	}
	b := make([]byte, recordHead+h.length)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return nil, err
	}
	end := r.at + int64(len(b))
	if crc32.Checksum(b[recordHead:], castagnoli) != h.sum {
		return nil, r.expectEndBehind(end)
	}
	l, err := decode(b[recordHead:], h.owned)
	r.at = end
	return l, err
}

// head decodes the next head, at the given place.
func (r *records) head(at int64) (h head, ok bool, err error) {
	b, err := r.in.Peek(recordHead)
	if err != nil && err != io.EOF {
		return head{}, false, err
	}
	h, ok = readHead(b, at)
	return h, ok, nil
}

// checkLastWrite returns an error if the invalid data at the given place is followed by a
// record of a later write. A write begins after the previous one is on disk, so that the
// previous one must have been complete.
func (r *records) checkLastWrite(at int64) error {
	if _, err := r.in.Discard(1); err != nil {
		return err
	}
	return r.expectEndBehind(at)
}

func (r *records) expectEndBehind(at int64) error {
	for at < r.size {
		h, ok, err := r.head(at)
		if err != nil {
			return err
		}
		skip := int64(1)
		if ok {
			if at-int64(h.offset) > r.at {
				return errDamaged
			}
			skip = min(recordHead+int64(h.length), r.size-at)
		}
		if _, err := r.in.Discard(int(skip)); err != nil {
			return err
		}
		at += skip
	}
	return nil
}
