//go:build unix

package systemd

import "syscall"

// closeOnExec keeps a descriptor from child processes.
func closeOnExec(fd uintptr) { syscall.CloseOnExec(int(fd)) }
