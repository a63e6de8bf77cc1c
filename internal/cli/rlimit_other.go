//go:build !unix

package cli

import "math"

// openFiles returns the maximum number of open files of the process.
func openFiles() uint64 { return math.MaxUint64 }
