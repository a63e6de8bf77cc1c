//go:build unix

package main

import (
	"fmt"
	"runtime"
	"syscall"
)

// raiseFiles raises the limit on open files of this process and its servers to the system's
// maximum, and returns it. Setting the limit explicitly makes children inherit it.
func raiseFiles() (int, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("read limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if runtime.GOOS == "darwin" {
		limit.Cur = min(limit.Cur, 24_000) // the system refuses more, whatever maximum it reports
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("raise limit of open files: %w", err)
	}
	return int(min(limit.Cur, 1<<30)), nil
}
