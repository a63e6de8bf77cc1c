//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lists

import (
	"errors"
	"os"
	"syscall"
)

// lock locks f until it is closed, at the latest when the process ends.
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
