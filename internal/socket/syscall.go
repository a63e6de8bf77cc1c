//go:build unix && (!linux || race || 386)

package socket

import "syscall"

// The race detector infers from system calls that the runtime sees in which order a request
// was written and read. Without them it would report what tests do before and after as races.
// Linux on 386 has no system call of its own for recvfrom.

// Read reads the bytes that are available into b; the error is EAGAIN if there are none.
func Read(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// Write writes as much of b as the socket's buffer has room for.
func Write(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// Peek is Read of one byte that remains unread.
func Peek(fd int, b *[1]byte) (int, error) {
	for {
		n, _, err := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

// wakeSysmon has nothing to do: Read and Write wake sysmon.
func wakeSysmon() {}
