package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

var buffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

const readSize = 4 * BlockSize

// Reader is an open body. It is used by one goroutine, and remains readable after the body
// was dropped.
type Reader struct {
	file *File
	f    Handle
	sums []uint32
	buf  *[]byte
	have []byte // data of the last read, in buf
	from int64  // offset of have
}

// Open opens the body for reading. It returns ErrDamaged if the checksums are damaged,
// ErrGone if the body was dropped.
func (f *File) Open() (*Reader, error) {
	if f.Gone() {
		return nil, ErrGone
	}
	in, err := f.part.tier.fs.Open(f.part.path(f.name, bodyEnding))
	if err != nil {
		if f.Gone() {
			return nil, ErrGone
		}
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sums, err := f.checksums(in)
	if err != nil {
		in.Close()
		return nil, err
	}
	f.read.Store(true)
	return &Reader{file: f, f: in, sums: sums, buf: buffers.Get().(*[]byte)}, nil
}

// checksums returns the checksums of all blocks, which are read once.
func (f *File) checksums(in Handle) ([]uint32, error) {
	if s := f.sums.Load(); s != nil {
		return *s, nil
	}
	b := make([]byte, trailerSize(f.length))
	if n, err := in.ReadAt(b, f.length); n < len(b) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sums, err := decodeSums(f.name, f.length, b)
	if err != nil {
		return nil, err
	}
	f.sums.Store(&sums)
	return sums, nil
}

// Overhead returns the heap size of the checksums, which are kept once the body was read.
func (f *File) Overhead() int64 { return 4 * blocks(f.length) }

// At returns verified bytes at off, which must lie in the body: at least one, valid until
// the next call.
func (r *Reader) At(off int64) ([]byte, error) {
	if off >= r.from && off < r.from+int64(len(r.have)) {
		return r.have[off-r.from:], nil
	}
	b, err := readBlocks(r.f, r.sums, r.file.length, off, *r.buf)
	r.have, r.from = b, off
	return b, err
}

// WriteRange writes n bytes from offset from on, which must lie in the body. An error that
// wraps ErrDamaged is the body's, any other is w's.
func (r *Reader) WriteRange(w io.Writer, from, n int64) error {
	for n > 0 {
		b, err := r.At(from)
		if err != nil {
			return err
		}
		b = b[:min(n, int64(len(b)))]
		if _, err := w.Write(b); err != nil {
			return err
		}
		from, n = from+int64(len(b)), n-int64(len(b))
	}
	return nil
}

// Close closes the reader.
func (r *Reader) Close() {
	_ = r.f.Close()
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf, r.have = nil, nil
	}
}

// readBlocks reads and verifies as many blocks as fit into buf, of a body of that length,
// and returns the bytes from off on.
func readBlocks(f Handle, sums []uint32, length, off int64, buf []byte) ([]byte, error) {
	start := off / BlockSize * BlockSize
	size := min(int64(len(buf))/BlockSize*BlockSize, length-start)
	b := buf[:size]
	if n, err := f.ReadAt(b, start); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	first := start / BlockSize
	if err := verify(b, sums[first:first+blocks(size)]); err != nil {
		return nil, err
	}
	return b[off-start:], nil
}
