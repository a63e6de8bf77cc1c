//go:build !unix

package origin

import "syscall"

// newIdleCheck takes every socket for good where it can't be looked at without waiting:
// a connection that was closed meanwhile then costs an attempt.
func newIdleCheck(syscall.RawConn) func() bool { return func() bool { return true } }
