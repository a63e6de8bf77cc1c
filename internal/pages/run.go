// Package pages keeps long strings of bytes outside of Go's heap, in whole pages of memory
// that the system can send without copying them. That works on Linux; on other systems Join
// returns nil, and the caller keeps the bytes on the heap.
//
// Sent bytes are not copied until the peer has acknowledged them: the socket refers to the
// pages themselves, since it may have to send them again. So a page is written once, before
// it is shared, and is never used for other bytes. When its Run is no longer reachable it is
// returned to the system, which does not reuse it while a socket refers to it. Memory of
// Go's heap can't be sent in this way, because it is reused as soon as the program has no
// reference to it.
package pages

import (
	"os"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Run is a string of bytes in pages of its own. It is immutable. The memory is returned to
// the system once the Run is unreachable, even if a slice of it is still in use: a reader of
// the bytes must keep the Run.
type Run struct {
	mem    []byte // whole pages
	length int
}

// runs is the number of Runs, and held the number of bytes of their pages.
var runs, held atomic.Int64

// Held returns how many bytes all Runs take.
func Held() int64 { return held.Load() }

// maxRuns bounds the number of Runs. Each may be a mapping to the system, of which a process
// has 65,530 by default (vm.max_map_count), and Go's own memory needs some.
const maxRuns = 1 << 15

// Join returns a Run of the parts, one after another, or nil if there is no memory of this
// kind: the bytes then remain on the heap.
func Join(parts ...[]byte) *Run {
	length := 0
	for _, p := range parts {
		length += len(p)
	}
	if length == 0 {
		return nil
	}
	var mem []byte
	if runs.Add(1) <= maxRuns {
		mem = mapPages(length)
	}
	if mem == nil {
		runs.Add(-1)
		return nil
	}
	at := 0
	for _, p := range parts {
		at += copy(mem[at:], p)
	}
	held.Add(int64(len(mem)))
	r := &Run{mem: mem, length: length}
	runtime.AddCleanup(r, release, mem)
	return r
}

// release returns the memory of an unreachable Run.
func release(mem []byte) {
	unmapPages(mem)
	held.Add(-int64(len(mem)))
	runs.Add(-1)
}

// Bytes returns the bytes, valid while r is reachable. They must not be changed.
func (r *Run) Bytes() []byte { return r.mem[:r.length:r.length] }

// SizeOf returns the memory that a Run of length bytes occupies.
func SizeOf(length int64) int64 {
	page := int64(os.Getpagesize())
	return (length + page - 1) / page * page
}

// Holds reports whether p is a part of r.
func (r *Run) Holds(p []byte) bool {
	if r == nil || len(p) == 0 {
		return false
	}
	first, at := uintptr(unsafe.Pointer(unsafe.SliceData(r.mem))), uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	return at >= first && at-first+uintptr(len(p)) <= uintptr(r.length)
}
