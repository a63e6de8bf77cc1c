//go:build unix

package socket

import (
	"io"
	"os"
	"syscall"
)

// question is a call of Ask in progress.
type question struct {
	request, answer []byte
	idle            bool
	sent            func() bool
	written, read   int
	asked           bool // request is written, or can't be
	err             error
	try             func(fd uintptr) bool
}

// Ask writes a request and reads the beginning of its answer into answer, as Write and Read do.
// It makes one system call less, because it does not look for the answer before it waits. read is
// 0 if the answer could not be read; the error is then io.EOF at the end of the stream.
//
// With idle nothing is written if anything has arrived before: the error is ErrNotIdle. If sent is
// not nil it is called when the request is written; if it returns false the answer is not waited
// for, and the error is ErrUnwanted.
func (s *Stream) Ask(request, answer []byte, idle bool, sent func() bool) (written, read int, err error) {
	q := &s.ask
	q.request, q.answer, q.idle, q.sent = request, answer, idle, sent
	q.written, q.read, q.asked, q.err = 0, 0, false, nil
	err = s.raw.Read(q.try)
	if err == nil {
		err = q.err
	}
	written, read = q.written, q.read
	q.request, q.answer, q.sent, q.err = nil, nil, nil, nil
	if err != syscall.EAGAIN {
		return written, read, err
	}
	// The socket's buffer is full: wait until it has room.
	n, err := s.Write(request[written:])
	written += n
	switch {
	case err != nil:
	case sent != nil && !sent():
		err = ErrUnwanted
	default:
		read, err = s.Read(answer)
	}
	return written, read, err
}

// proceed writes the request when it is called first, and reads the answer afterwards. It returns
// false if the answer has not arrived: the wait that follows notices all that has arrived since
// the first call began.
func (q *question) proceed(fd uintptr) bool {
	if !q.asked {
		q.asked = true
		// What had arrived before the first call is not notified again.
		arrived := q.arrived(int(fd))
		if !q.send(int(fd), arrived) {
			return true
		}
		if !arrived {
			return false
		}
	}
	n, err := Read(int(fd), q.answer)
	switch {
	case err == syscall.EAGAIN:
		return false
	case err != nil:
		q.err = os.NewSyscallError("read", err)
	case n == 0:
		q.err = io.EOF
	default:
		q.read = n
	}
	return true
}

// arrived reports whether there is anything to read.
func (q *question) arrived(fd int) bool {
	var b [1]byte
	_, err := Peek(fd, &b)
	return err != syscall.EAGAIN
}

// send writes the request, unless an idle connection has received data before it, and reports
// whether the answer is to be read. It sets err to EAGAIN if the socket has room for a part only.
func (q *question) send(fd int, arrived bool) bool {
	if q.idle && arrived {
		q.err = ErrNotIdle
		return false
	}
	n, err := Write(fd, q.request)
	q.written = max(n, 0)
	switch {
	case err == syscall.EAGAIN || err == nil && n < len(q.request):
		q.err = syscall.EAGAIN
	case err != nil:
		q.err = os.NewSyscallError("write", err)
	case q.sent != nil && !q.sent():
		q.err = ErrUnwanted
	}
	return q.err == nil
}
