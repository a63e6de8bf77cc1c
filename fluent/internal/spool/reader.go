package spool

import (
	"bytes"
	"hash/crc32"
	"io"
)

const (
	blockSize    = 4 << 10  // skipped if it can't be read
	resyncWindow = 32 << 10 // searched at a time
)

// loss describes skipped data.
type loss struct {
	payloads int
	records  int
	bytes    int64
	err      error // the last read error, if there was one
}

// segmentReader iterates over the records of one segment. Its caller may raise end as the
// segment grows.
type segmentReader struct {
	src io.ReaderAt
	seq uint64
	off int64 // of the next record
	end int64

	// lost describes the data skipped before the last record that next returned or, in
	// bytes, up to the end.
	lost loss
	// tail is the end of the last record with a valid header.
	tail int64

	// The expected counts of the next record, once a header was read.
	counted       bool
	index, before uint32

	codec  headerCodec
	head   [recordHeaderLen]byte
	window []byte
}

func newSegmentReader(src io.ReaderAt, seq uint64, off, end int64) *segmentReader {
	return &segmentReader{src: src, seq: seq, off: off, end: end, tail: off}
}

// next returns the next valid record: its offset, its header and its payload, in buf if that
// is large enough. It returns io.EOF at the end.
func (r *segmentReader) next(buf []byte) (off int64, h recordHeader, payload []byte, err error) {
	for r.off < r.end {
		off = r.off
		h, ok := r.headerAt(off)
		if !ok {
			found := r.resync(off + 1)
			r.lost.bytes += found - off
			r.off = found
			continue
		}
		r.account(h)
		r.off, r.tail = off+h.size(), off+h.size()
		if int64(cap(buf)) < int64(h.length) {
			buf = make([]byte, h.length)
		}
		payload = buf[:h.length]
		if err := readFull(r.src, payload, off+recordHeaderLen); err != nil {
			r.lost.err = err
		} else if crc32.Checksum(payload, castagnoli) == h.sum {
			return off, h, payload, nil
		}
		r.lost.payloads++
		r.lost.records += int(h.records)
		r.lost.bytes += h.size()
	}
	return r.off, recordHeader{}, nil, io.EOF
}

// headerAt reads the header at off. It is valid only if its payload fits.
func (r *segmentReader) headerAt(off int64) (h recordHeader, ok bool) {
	if off+recordHeaderLen > r.end {
		return h, false
	}
	if err := readFull(r.src, r.head[:], off); err != nil {
		r.lost.err = err
		return h, false
	}
	return r.fits(r.head[:], off)
}

func (r *segmentReader) fits(b []byte, off int64) (recordHeader, bool) {
	h, ok := r.codec.decode(b, r.seq, off)
	return h, ok && off+h.size() <= r.end
}

// account adds the payloads missing before h to lost: headers are numbered, so a gap between
// two shows what was in it.
func (r *segmentReader) account(h recordHeader) {
	if r.counted && h.index > r.index && h.before >= r.before {
		r.lost.payloads += int(h.index - r.index)
		r.lost.records += int(h.before - r.before)
	}
	r.counted = true
	r.index, r.before = h.index+1, h.before+h.records
}

// resync returns the offset of the next valid header, or the end.
func (r *segmentReader) resync(from int64) int64 {
	if r.window == nil {
		r.window = make([]byte, resyncWindow)
	}
	for from+recordHeaderLen <= r.end {
		b := r.window[:min(int64(len(r.window)), r.end-from)]
		err := readFull(r.src, b, from)
		if err != nil && len(b) > blockSize {
			b = b[:blockSize]
			err = readFull(r.src, b, from)
		}
		if err != nil {
			r.lost.err = err
			from = (from/blockSize + 1) * blockSize
			continue
		}
		if at, ok := r.find(b, from); ok {
			return at
		}
		from += int64(len(b)) - recordHeaderLen + 1
	}
	return r.end
}

// find searches b, which begins at base, for a valid header.
func (r *segmentReader) find(b []byte, base int64) (int64, bool) {
	for at := 0; at+recordHeaderLen <= len(b); at++ {
		i := bytes.Index(b[at:len(b)-recordHeaderLen+len(recordMagic)], []byte(recordMagic))
		if i < 0 {
			return 0, false
		}
		at += i
		if _, ok := r.fits(b[at:at+recordHeaderLen], base+int64(at)); ok {
			return base + int64(at), true
		}
	}
	return 0, false
}

// readFull treats an end of file like any read error: callers know the length.
func readFull(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
