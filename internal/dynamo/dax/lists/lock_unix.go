//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lists

import (
	"errors"
	"os"
	"syscall"
)

// lock keeps others out until f is closed, which the system does at the end of the
// process at the latest.
func lock(f *os.File) error {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
