//go:build linux && !race

package client

import (
	"syscall"
	"unsafe"
)

// readNow reads what is there; EAGAIN says that nothing is.
func readNow(fd int, b []byte) (int, error) { return callNow(syscall.SYS_READ, fd, b) }

// writeNow writes what there is room for.
func writeNow(fd int, b []byte) (int, error) { return callNow(syscall.SYS_WRITE, fd, b) }

// callNow makes a system call that does not wait, and does not let the runtime know. If
// it did, each burst of requests would wake the runtime's monitor, which then looks every
// 20 us whether the call has got stuck: that took up to a fifth of the CPU of a small
// hit. The price is that a stop of the world waits for the call, which takes microseconds.
// See decision 0011; package edge, which reads the requests, wakes the monitor from time to
// time.
func callNow(trap uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return -1, errno
		}
	}
}
