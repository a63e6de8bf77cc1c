//go:build unix && (!linux || race)

package client

import "syscall"

// The race detector learns from calls that the runtime sees in which order a request
// was written and read; it would take what tests do before and after for races.

// readNow reads what is there; EAGAIN says that nothing is.
func readNow(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// writeNow writes what there is room for.
func writeNow(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
