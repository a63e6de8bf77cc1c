//go:build unix

package cli

import (
	"math"
	"syscall"
)

// openFiles returns the maximum number of open files of the process. Go's runtime raises the
// soft limit to the hard limit at the start.
func openFiles() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxUint64
	}
	return uint64(l.Cur)
}
