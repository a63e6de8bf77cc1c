//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package spool

import (
	"io"
	"sync"
)

// locked holds the directories in use by this process. On systems without a lock that ends
// with its process, other processes are not excluded.
var locked sync.Map

type processLock string

func lockFile(name string) (io.Closer, error) {
	if _, taken := locked.LoadOrStore(name, true); taken {
		return nil, ErrLocked
	}
	return processLock(name), nil
}

func (l processLock) Close() error {
	locked.Delete(string(l))
	return nil
}
