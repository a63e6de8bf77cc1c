//go:build unix

package cli

import (
	"math"
	"syscall"
)

// openFiles is how many files the process may have open. Go's runtime raises the soft
// limit to the hard one at the start.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur)
}
