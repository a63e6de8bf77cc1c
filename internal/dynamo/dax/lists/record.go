package lists

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// recordHead is how long a record's head is.
const recordHead = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is what stands before a list. It has a checksum of its own, so that its length can
// be trusted: else a damaged one could make the rest of the file look cut off.
type head struct {
	length uint32 // of the body
	owned  bool   // the body begins with an owner
	offset uint32 // of what was written before the record, together with it
	sum    uint32 // of the body
}

// ownedBit marks the length of a body that begins with an owner.
const ownedBit = 1 << 31

// appendRecord appends the record with a body that begins with an owner. It will be at that place of the file, and the
// write that it is a part of begins so far before it.
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

// headSum is the checksum of a head. The place is in it, so that nothing is taken for a
// record that is not where it was written.
func headSum(b []byte, at int64) uint32 {
	var place [8]byte
	binary.BigEndian.PutUint64(place[:], uint64(at))
	return crc32.Update(crc32.Checksum(place[:], castagnoli), castagnoli, b[:recordHead-4])
}

// readHead reads a head; false if there is none.
func readHead(b []byte, at int64) (h head, ok bool) {
	if len(b) < recordHead || binary.BigEndian.Uint32(b[recordHead-4:]) != headSum(b, at) {
		return head{}, false
	}
	length := binary.BigEndian.Uint32(b)
	h = head{length &^ ownedBit, length&ownedBit != 0, binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
	return h, h.length > 0 && h.length <= maxBytes+maxOwner
}

// records reads a file's records.
type records struct {
	in       *bufio.Reader
	at, size int64 // where in is, and where the file ends
}

var errDamaged = errors.New("a list is damaged, and others were written behind it; restore the file, or move it away and restart the clients")

// queued reads a list. There is none at the file's end, or where all that follows belongs
// to one write that a crash has cut off; at stays there.
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

// head looks at the head that is next, which is at that place.
func (r *records) head(at int64) (h head, ok bool, err error) {
	b, err := r.in.Peek(recordHead)
	if err != nil && err != io.EOF {
		return head{}, false, err
	}
	h, ok = readHead(b, at)
	return h, ok, nil
}

// checkLastWrite makes sure that nothing of a later write follows what is next, one byte of
// which is passed over. A write waits for the one before it to be on disk: so that one was
// whole once.
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
