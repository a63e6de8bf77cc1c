package dax

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A request is read into contiguous memory for its decoder. Each connection with a request
// has a buffer of smallBuffer bytes. A larger request moves to larger buffers as its bytes
// arrive, never because of a declared length.
const (
	smallBuffer   = 8 << 10
	largestShift  = 30
	smallestShift = 14
)

// buffers are pools of large buffers by the binary logarithm of their size.
var buffers [largestShift + 1]sync.Pool

// byteBudget counts the memory that all connections use for large requests.
type byteBudget struct{ used atomic.Int64 }

// reserve reserves n bytes of at most limit. It reports whether they were available.
func (r *byteBudget) reserve(n, limit int) bool {
	if r.used.Add(int64(n)) <= int64(limit) {
		return true
	}
	r.used.Add(-int64(n))
	return false
}

func (r *byteBudget) release(n int) { r.used.Add(-int64(n)) }

// input holds the bytes that a connection has read and not yet processed: buf[off:have].
type input struct {
	buf, small []byte // small is kept permanently, and equals buf while it is large enough
	off, have  int
}

// space returns the free part of the buffer, which is empty if the buffer is full.
func (in *input) space() []byte {
	if in.off == in.have {
		in.off, in.have = 0, 0
	} else if in.have == len(in.buf) && in.off > 0 {
		in.have = copy(in.buf, in.buf[in.off:in.have])
		in.off = 0
	}
	return in.buf[in.have:]
}

// grow doubles the buffer if the budget permits it.
func (in *input) grow(r *byteBudget, limit int) bool {
	size := 2 * len(in.buf)
	shift := bits.Len(uint(size - 1))
	if shift < smallestShift || shift > largestShift || !r.reserve(size, limit) {
		return false
	}
	next, _ := buffers[shift].Get().(*[]byte)
	if next == nil {
		b := make([]byte, size)
		next = &b
	}
	old := in.buf
	in.have = copy(*next, old[in.off:in.have])
	in.buf, in.off = *next, 0
	in.free(r, old)
	return true
}

// free returns a large buffer to its pool.
func (in *input) free(r *byteBudget, b []byte) {
	if len(b) > len(in.small) {
		r.release(len(b))
		buffers[bits.Len(uint(len(b)-1))].Put(&b)
	}
}

// shrink moves the content to the small buffer if it fits.
func (in *input) shrink(r *byteBudget) {
	if len(in.buf) == len(in.small) || in.have-in.off > len(in.small) {
		return
	}
	old := in.buf
	in.have = copy(in.small, old[in.off:in.have])
	in.buf, in.off = in.small, 0
	in.free(r, old)
}

// release discards the content.
func (in *input) release(r *byteBudget) {
	in.off, in.have = 0, 0
	in.shrink(r)
}
