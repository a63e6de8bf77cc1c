//go:build !(linux || darwin) || race

package cache

import "unsafe"

// mapped returns nil: there is no mapping on these systems. The race detector only covers
// Go's own memory and would not recognise atomic operations elsewhere.
func mapped(uint64) unsafe.Pointer { return nil }
