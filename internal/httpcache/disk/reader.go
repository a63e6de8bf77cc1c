package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// buffers are what bodies are read into.
var buffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

// readSize is how much is read at a time.
const readSize = 4 * BlockSize

// Reader is an open body. It belongs to one goroutine, and reads on after the body
// was dropped.
type Reader struct {
	file *File
	f    Handle
	sums []uint32
	buf  *[]byte
	have []byte // what was read last and lies in buf
	from int64  // where it begins
}

// Open opens the body for reading. ErrDamaged says that its checksums are damaged,
// ErrGone that it was dropped.
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

// checksums reads those of all blocks, once.
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

// Overhead is what the body takes of the heap when it has been read: its checksums.
func (f *File) Overhead() int64 { return 4 * blocks(f.length) }

// At returns bytes from off on, which must lie in the body: at least one, checked, and
// valid until the next call.
func (r *Reader) At(off int64) ([]byte, error) {
	if off >= r.from && off < r.from+int64(len(r.have)) {
		return r.have[off-r.from:], nil
	}
	b, err := readBlocks(r.f, r.sums, r.file.length, off, *r.buf)
	r.have, r.from = b, off
	return b, err
}

// WriteRange writes n bytes from offset from on, which must lie in the body. An error
// that wraps ErrDamaged is the body's, any other is w's.
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

// Close ends the reading.
func (r *Reader) Close() {
	_ = r.f.Close()
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf, r.have = nil, nil
	}
}

// readBlocks reads and checks as many blocks as fit into buf, of a body of that
// length, and returns their bytes from off on.
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
