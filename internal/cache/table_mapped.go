//go:build (linux || darwin) && !race

package cache

import (
	"math"
	"syscall"
	"unsafe"
)

// mapped returns size zero bytes, aligned to a page and allocated page by page on the first
// write; nil if the mapping fails.
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
