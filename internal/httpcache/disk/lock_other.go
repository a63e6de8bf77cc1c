//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package disk

import (
	"io"
	"sync"
)

// locked are the directories in use by this process. On these systems other processes are
// not excluded, because there is no lock that ends with its process.
var locked sync.Map

type lockedName string

func lockFile(name string) (io.Closer, error) {
	if _, taken := locked.LoadOrStore(name, true); taken {
		return nil, ErrLocked
	}
	return lockedName(name), nil
}

func (l lockedName) Close() error {
	locked.Delete(string(l))
	return nil
}
