package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
	"unsafe"
)

const eventLoops = true

// socket is a connection detached from Go's poller, which would otherwise be woken by every
// answer as well.
type socket struct {
	fd   int
	open bool
	rest []byte // the part of the request that the kernel has not accepted yet
}

func (s *socket) close() {
	if s.open {
		syscall.Close(s.fd)
	}
	*s = socket{}
}

// attach makes c the owner of nc's socket and closes nc.
func (c *conn) attach(nc net.Conn) error {
	defer nc.Close()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		return fmt.Errorf("load: take over connection: %w", err)
	}
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		var copied uintptr
		copied, _, failed = syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, 0)
		c.socket = socket{fd: int(copied), open: failed == 0}
	})
	if err == nil && failed != 0 {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("load: take over connection: %w", err)
	}
	return nil
}

// events drives many connections from one goroutine. A connection is either busy (with a
// request in flight) or in idle.
type events struct {
	*counts
	epoll int
	conns []*conn
	idle  []*conn
	busy  int

	// A slot that was drawn while a connection was idle, and not used yet.
	held       bool
	due, drawn time.Duration
	over       bool

	swept time.Duration
}

// runEvents drives conns until the run ends.
func runEvents(t *counts, conns []*conn) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		t.fail(fmt.Errorf("load: epoll: %w", err))
		return
	}
	defer syscall.Close(epoll)
	e := &events{counts: t, epoll: epoll, conns: conns}
	for i, c := range conns {
		if err := e.watch(syscall.EPOLL_CTL_ADD, i, syscall.EPOLLIN); err != nil {
			t.fail(err)
			return
		}
		e.idle = append(e.idle, c)
	}
	e.loop()
}

func (e *events) watch(op, index int, what uint32) error {
	event := syscall.EpollEvent{Events: what, Fd: int32(index)}
	if err := syscall.EpollCtl(e.epoll, op, e.conns[index].socket.fd, &event); err != nil {
		return fmt.Errorf("load: watch connection: %w", err)
	}
	return nil
}

func (e *events) loop() {
	ready := make([]syscall.EpollEvent, 256)
	for {
		e.send()
		if e.busy == 0 && (e.over || len(e.idle) == 0) || e.ctx.Err() != nil {
			return
		}
		n, err := e.wait(ready)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			e.fail(fmt.Errorf("load: epoll: %w", err))
			return
		}
		for _, event := range ready[:max(n, 0)] {
			e.ready(int(event.Fd), event.Events)
		}
		e.sweep()
	}
}

// send sends the requests that are due on idle connections.
func (e *events) send() {
	for len(e.idle) > 0 && !e.over {
		now := e.pace.now()
		if !e.held {
			e.due, e.held = e.pace.draw(now)
			e.drawn, e.over = now, !e.held
			if e.over {
				return
			}
		}
		if e.due > now {
			return
		}
		c := e.idle[len(e.idle)-1]
		e.idle = e.idle[:len(e.idle)-1]
		e.held = false
		e.busy++
		c.busy = true
		c.sent = now
		c.since = e.pace.since(e.due, e.drawn, now)
		c.socket.rest = e.request(c)
		e.flush(c)
	}
}

// flush writes the rest of c's request. The kernel reports when it can accept more.
func (e *events) flush(c *conn) {
	n, err := syscall.Write(c.socket.fd, c.socket.rest)
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		e.replace(c, err)
		return
	}
	n = max(n, 0)
	e.BytesOut += uint64(n)
	c.socket.rest = c.socket.rest[n:]
	blocked := len(c.socket.rest) > 0
	if blocked == c.blocked {
		return
	}
	c.blocked = blocked
	what := uint32(syscall.EPOLLIN)
	if blocked {
		what |= syscall.EPOLLOUT
	}
	if err := e.watch(syscall.EPOLL_CTL_MOD, c.id-e.conns[0].id, what); err != nil {
		e.replace(c, err)
	}
}

// ready handles one event of the connection at index.
func (e *events) ready(index int, what uint32) {
	c := e.conns[index]
	if !c.socket.open {
		return
	}
	if what&syscall.EPOLLOUT != 0 {
		e.flush(c)
	}
	if what&^syscall.EPOLLOUT == 0 || !c.socket.open {
		return
	}
	n, err := syscall.Read(c.socket.fd, c.room())
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
	case err != nil:
		e.replace(c, err)
	case n == 0 && !c.busy:
		e.replace(c, nil)
	case n == 0:
		e.replace(c, io.ErrUnexpectedEOF)
	case !c.busy:
		e.replace(c, errors.New("load: an answer without a request"))
	default:
		if done, again := e.arrived(c, n); done && again {
			e.release(c)
		} else if done {
			e.replace(c, nil)
		}
	}
}

func (e *events) release(c *conn) {
	if c.busy {
		c.busy = false
		e.busy--
		e.idle = append(e.idle, c)
	}
}

// replace reconnects c after cause, which is nil if the server was allowed to close the
// connection. If that fails the connection is given up.
func (e *events) replace(c *conn, cause error) {
	if e.ctx.Err() != nil {
		return // the run is over, and Run closes the connections
	}
	if cause != nil {
		e.fail(fmt.Errorf("load: connection lost: %w", cause))
	}
	c.hangUp()
	c.blocked = false
	err := e.dial(c)
	if err == nil {
		err = e.watch(syscall.EPOLL_CTL_ADD, c.id-e.conns[0].id, syscall.EPOLLIN)
	}
	if err == nil {
		e.release(c)
		return
	}
	e.fail(err)
	c.hangUp()
	if c.busy {
		c.busy = false
		e.busy--
		return
	}
	for i, other := range e.idle {
		if other == c {
			e.idle = append(e.idle[:i], e.idle[i+1:]...)
			return
		}
	}
}

// sweep fails requests that exceed the timeout. It runs ten times a second, which is precise
// enough.
func (e *events) sweep() {
	now := e.pace.now()
	if now-e.swept < 100*time.Millisecond {
		return
	}
	e.swept = now
	for _, c := range e.conns {
		if c.busy && now-c.sent > e.cfg.Timeout {
			e.replace(c, fmt.Errorf("no answer within %v", e.cfg.Timeout))
		}
	}
}

// wait sleeps until a connection is ready, the drawn slot is due, or cancellation and timeouts must
// be checked.
func (e *events) wait(ready []syscall.EpollEvent) (int, error) {
	timeout := 100 * time.Millisecond
	if e.held && len(e.idle) > 0 {
		timeout = min(timeout, max(0, e.due-e.pace.now()))
	}
	spec := syscall.NsecToTimespec(int64(timeout))
	n, _, errno := syscall.Syscall6(sysEpollPwait2, uintptr(e.epoll), uintptr(unsafe.Pointer(&ready[0])),
		uintptr(len(ready)), uintptr(unsafe.Pointer(&spec)), 0, 0)
	if errno == syscall.ENOSYS { // before Linux 5.11: whole milliseconds, the last one spent polling
		return syscall.EpollWait(e.epoll, ready, int(timeout/time.Millisecond))
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// sysEpollPwait2 is the system call's number on amd64, arm64 and all newer architectures;
// the older ones return ENOSYS.
const sysEpollPwait2 = 441
