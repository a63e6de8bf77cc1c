//go:build unix

package socket

import (
	"io"
	"os"
	"syscall"
)

// Stream reads and writes a connection by the system calls of this package, which cost less
// than those of package net. One goroutine may read while another one writes. Deadlines and
// Close of the connection affect it.
type Stream struct {
	raw         syscall.RawConn
	read, write transfer
	ask         question
}

// transfer is a read or write in progress.
type transfer struct {
	buf []byte
	n   int
	err error
	try func(fd uintptr) bool
}

// NewStream returns a Stream for raw, or nil where there is no such thing.
func NewStream(raw syscall.RawConn) *Stream {
	if raw == nil {
		return nil
	}
	s := &Stream{raw: raw}
	s.read.try, s.write.try, s.ask.try = s.read.receive, s.write.send, s.ask.proceed
	return s
}

// Read implements io.Reader.
func (s *Stream) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	s.read.begin(b)
	n, err := s.read.end(s.raw.Read(s.read.try))
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements io.Writer.
func (s *Stream) Write(b []byte) (int, error) {
	s.write.begin(b)
	return s.write.end(s.raw.Write(s.write.try))
}

func (t *transfer) begin(b []byte) { t.buf, t.n, t.err = b, 0, nil }

// end returns the result, and err if the connection has failed.
func (t *transfer) end(err error) (int, error) {
	t.buf = nil
	if err == nil {
		err = t.err
	}
	return t.n, err
}

// receive reads once. It returns false if nothing has arrived.
func (t *transfer) receive(fd uintptr) bool {
	n, err := Read(int(fd), t.buf)
	if err == syscall.EAGAIN {
		return false
	}
	t.n, t.err = max(n, 0), os.NewSyscallError("read", err)
	return true
}

// send writes as much as possible. It returns false if more must wait.
func (t *transfer) send(fd uintptr) bool {
	for t.n < len(t.buf) {
		n, err := Write(int(fd), t.buf[t.n:])
		if err == syscall.EAGAIN {
			return false
		}
		t.n += max(n, 0)
		if err != nil {
			t.err = os.NewSyscallError("write", err)
			return true
		}
	}
	return true
}
