package pages

import (
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Send sends head, which is copied, and then p, which must be in a Run and is not copied, to
// a non-blocking socket. It returns how much of both together the socket has accepted, which
// may be less than all without an error; EAGAIN if it accepts nothing now; ErrUnsupported.
func Send(fd int, head, p []byte) (int, error) {
	if unable.Load() {
		return 0, ErrUnsupported
	}
	q := take()
	if q == nil {
		return 0, ErrUnsupported
	}
	held, err := q.fill(head, p)
	if err != nil {
		q.close()
		return 0, err
	}
	n, err := q.drain(fd, held, held < len(head)+len(p))
	if n < held { // the rest is filled in again when the socket accepts it
		q.close()
	} else {
		pipes.Put(q)
	}
	if n > 0 {
		err = nil
	}
	return n, err
}

// unable is set when the system does not support or permit it.
var unable atomic.Bool

// pipe transfers pages to a socket: its contents refer to the pages. It is empty while it is
// unused.
type pipe struct {
	out, in int
	cleanup runtime.Cleanup
}

// pipes holds unused pipes. Pipes dropped by the pool are closed.
var pipes sync.Pool

// pipeSize is the number of bytes of pages in a pipe, if the system permits it: a user
// without privileges may have 256 such pipes; further ones are smaller.
const pipeSize = 256 << 10

// take returns an empty pipe, nil if none can be created.
func take() *pipe {
	if q, ok := pipes.Get().(*pipe); ok {
		return q
	}
	var fds [2]int
	if syscall.Pipe2(fds[:], syscall.O_NONBLOCK|syscall.O_CLOEXEC) != nil {
		return nil
	}
	// If that fails the pipe remains smaller.
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, uintptr(fds[1]), syscall.F_SETPIPE_SZ, pipeSize)
	q := &pipe{out: fds[0], in: fds[1]}
	q.cleanup = runtime.AddCleanup(q, closePipe, fds)
	return q
}

func closePipe(fds [2]int) {
	_ = syscall.Close(fds[0])
	_ = syscall.Close(fds[1])
}

// close closes the pipe and drops its contents.
func (q *pipe) close() {
	q.cleanup.Stop()
	closePipe([2]int{q.out, q.in})
}

// fill puts as much of head and p into the pipe as fits.
func (q *pipe) fill(head, p []byte) (held int, err error) {
	if len(head) > 0 {
		held, err = syscall.Write(q.in, head)
		if err != nil {
			return 0, ErrUnsupported
		}
		if held < len(head) {
			return held, nil
		}
	}
	part := syscall.Iovec{Base: unsafe.SliceData(p)}
	part.SetLen(len(p))
	n, _, errno := syscall.Syscall6(syscall.SYS_VMSPLICE, uintptr(q.in), uintptr(unsafe.Pointer(&part)), 1, spliceNonblock, 0, 0)
	switch {
	case errno == 0:
		return held + int(n), nil
	case errno == syscall.EAGAIN && held > 0:
		return held, nil
	case errno == syscall.ENOSYS || errno == syscall.EPERM || errno == syscall.EINVAL:
		unable.Store(true)
	}
	return 0, ErrUnsupported
}

// drain moves the contents of the pipe to the socket, as far as that has room. more is set
// if other bytes follow at once.
func (q *pipe) drain(fd, held int, more bool) (sent int, err error) {
	flags := uintptr(spliceMove | spliceNonblock)
	if more {
		flags |= spliceMore
	}
	for sent < held {
		n, _, errno := syscall.Syscall6(syscall.SYS_SPLICE, uintptr(q.out), 0, uintptr(fd), 0, uintptr(held-sent), flags)
		switch {
		case errno == syscall.EINTR:
		case errno == syscall.EINVAL && sent == 0:
			return 0, ErrUnsupported // no such socket
		case errno != 0:
			return sent, errno
		case n == 0:
			return sent, io.ErrNoProgress // the pipe is not empty
		default:
			sent += int(n)
		}
	}
	return sent, nil
}

// Flags of splice(2) and vmsplice(2).
const (
	spliceMove     = 1
	spliceNonblock = 2
	spliceMore     = 4
)
