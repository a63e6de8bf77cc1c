//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package ledger

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
		return errors.New("another process uses it")
	}
	return err
}
