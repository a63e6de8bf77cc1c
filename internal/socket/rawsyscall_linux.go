//go:build linux && !race && !386

package socket

import (
	"syscall"
	"unsafe"
)

// Read reads the bytes that are available into b; the error is EAGAIN if there are none.
func Read(fd int, b []byte) (int, error) { return rawCall(syscall.SYS_READ, fd, b) }

// Write writes as much of b as the socket's buffer has room for.
func Write(fd int, b []byte) (int, error) { return rawCall(syscall.SYS_WRITE, fd, b) }

// Peek is Read of one byte that remains unread.
func Peek(fd int, b *[1]byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(b)), 1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return -1, errno
		}
	}
}

// rawCall makes a system call that does not block, without entering the scheduler. An
// ordinary call would wake sysmon at each burst of requests, and sysmon then checks every
// 20 us whether the call is stuck: that took up to a fifth of the CPU of a small hit. The
// price is that a stop of the world waits for the call, which takes microseconds.
func rawCall(trap uintptr, fd int, b []byte) (int, error) {
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

// wakeSysmon makes a system call that the runtime sees, which wakes sysmon if it sleeps.
func wakeSysmon() { _, _, _ = syscall.Syscall(syscall.SYS_GETPID, 0, 0, 0) }
