package cache

import "unsafe"

// mappedFrom is the size in bytes from which a table of slots is mapped outside of Go's
// heap.
const mappedFrom = 4 << 20

// newTable returns n zero slots. A large table is mapped outside of Go's heap where the
// system allows it: on the heap it would count in full, although most of its pages are never
// touched, and the collector would let garbage grow to about the size of the heap. The
// mapping is kept until the process ends, since look-ups are allowed after Close; a process
// creates one cache.
func newTable(n int) []slot {
	if size := uint64(n) * uint64(unsafe.Sizeof(slot{})); size >= mappedFrom {
		if at := mapped(size); at != nil {
			return unsafe.Slice((*slot)(at), n)
		}
	}
	return make([]slot, n)
}
