//go:build (linux || darwin) && !race

package cache

import (
	"math"
	"syscall"
	"unsafe"
)

// mapped returns so many bytes, zero, aligned to a page, and taken page by page as they
// are written; nil if there are none.
func mapped(size uint64) unsafe.Pointer {
	if size > math.MaxInt {
		return nil
	}
	mem, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(mem))
}
