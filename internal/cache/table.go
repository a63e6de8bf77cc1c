package cache

import "unsafe"

// mappedFrom is the size in bytes from which a table of slots is memory of its own. A
// smaller one does not count.
const mappedFrom = 4 << 20

// newTable makes n slots, all zero. A large table lies outside of Go's heap, where the
// system lets it: it would count there as a whole, although most of its pages are never
// touched, and the collector lets garbage grow to about the size of the heap. It is kept
// until the process ends, since look-ups are harmless after Close; a process makes one
// cache.
func newTable(n int) []slot {
	if size := uint64(n) * uint64(unsafe.Sizeof(slot{})); size >= mappedFrom {
		if at := mapped(size); at != nil {
			return unsafe.Slice((*slot)(at), n)
		}
	}
	return make([]slot, n)
}
