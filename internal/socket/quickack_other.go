//go:build !linux

package socket

import "syscall"

// Acknowledge does nothing: only Linux has an option for it.
func Acknowledge(syscall.RawConn) {}
