package dax

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A request is read into one piece of memory, for whoever decodes it. smallBuffer is what
// each connection with a request under way has; a larger request moves to larger buffers
// as its bytes come, never because it says how long it will be.
const (
	smallBuffer   = 8 << 10
	largestShift  = 30
	smallestShift = 14
)

// buffers holds large buffers for the next requests of their size, which is a power of
// two.
var buffers [largestShift + 1]sync.Pool

// byteBudget is what large requests of all connections share.
type byteBudget struct{ used atomic.Int64 }

// add takes n bytes out of most, if they are there.
func (r *byteBudget) reserve(n, most int) bool {
	if r.used.Add(int64(n)) <= int64(most) {
		return true
	}
	r.used.Add(-int64(n))
	return false
}

func (r *byteBudget) release(n int) { r.used.Add(-int64(n)) }

// input is what a connection has read and not answered yet: buf[off:have].
type input struct {
	buf, small []byte // small is always kept, and is buf as long as it suffices
	off, have  int
}

// space returns where the next bytes go. It is empty when the buffer is full.
func (in *input) space() []byte {
	if in.off == in.have {
		in.off, in.have = 0, 0
	} else if in.have == len(in.buf) && in.off > 0 {
		in.have = copy(in.buf, in.buf[in.off:in.have])
		in.off = 0
	}
	return in.buf[in.have:]
}

// grow makes the buffer twice as large, if there is room.
func (in *input) grow(r *byteBudget, most int) bool {
	size := 2 * len(in.buf)
	shift := bits.Len(uint(size - 1))
	if shift < smallestShift || shift > largestShift || !r.reserve(size, most) {
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

// unlimited gives a large buffer back.
func (in *input) free(r *byteBudget, b []byte) {
	if len(b) > len(in.small) {
		r.release(len(b))
		buffers[bits.Len(uint(len(b)-1))].Put(&b)
	}
}

// shrink returns to the small buffer, if what is there fits it.
func (in *input) shrink(r *byteBudget) {
	if len(in.buf) == len(in.small) || in.have-in.off > len(in.small) {
		return
	}
	old := in.buf
	in.have = copy(in.small, old[in.off:in.have])
	in.buf, in.off = in.small, 0
	in.free(r, old)
}

// release forgets what was read.
func (in *input) release(r *byteBudget) {
	in.off, in.have = 0, 0
	in.shrink(r)
}
