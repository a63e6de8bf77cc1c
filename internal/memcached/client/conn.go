package client

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
	"github.com/kasoku/kasoku/internal/socket"
)

// conn is one connection, from its handshake to its end. The lane's writer owns out, the
// reading goroutine owns in and the fields behind it; sent and armed are guarded by the
// lane's lock.
type conn struct {
	server   *server
	nc       net.Conn        // raw, or TLS over it
	sock     net.Conn        // the connection below TLS
	raw      syscall.RawConn // of sock if commands are written to it without TLS; else nil
	protocol Protocol        // not Auto after the handshake

	mu    *sync.Mutex // the lane's
	sent  []*Call     // handed over to the reader, in the order of the commands
	armed bool        // there is a read deadline, at or before the time when the oldest call times out

	out      wire.Writer
	opaque   uint32 // of the last binary command
	unsent   []byte // of out
	writable func(fd uintptr) bool
	writeErr error

	in        *wire.Reader
	readable  func(fd uintptr) bool
	readErr   error
	lastRead  int64 // when bytes were last read, in nanoseconds of Client.now
	excused   bool  // the deadline was noticed too late, and no bytes were read since
	replied   bool  // a reply was received after the handshake
	reply     wire.Reply
	due       []*Call // due[next:] wait for replies; taken from sent as a whole
	next      int
	last      int   // due[next:last] are answered by the current frame
	receiver  *Call // whose value is being read; nil with valuing: it is discarded
	valuing   bool
	discarded []byte // memory for discarded values
}

// bufferSize is the size of a connection's read buffer.
const bufferSize = 64 << 10

func newConn(s *server, nc, sock net.Conn) *conn {
	c := &conn{server: s, nc: nc, sock: sock, in: wire.NewReader(bufferSize)}
	if nc == sock {
		c.raw = socket.Raw(sock)
	}
	c.readable, c.writable = c.readRaw, c.writeRaw
	s.metrics.opened.Inc()
	s.metrics.open.Add(1)
	return c
}

var (
	errTimeout = errors.New("memcached: no reply in time")
	errNoMeta  = errors.New("memcached: the server is not spoken to in the meta protocol")
	errEnded   = errors.New("memcached: the server closed the connection")
)

// refusal is an error that a server returned.
type refusal struct{ text string }

func (r *refusal) Error() string { return "memcached: the server refuses: " + r.text }

func refused(r *wire.Reply) error {
	if r.Status != 0 {
		return &refusal{fmt.Sprintf("status 0x%02x %.100q", r.Status, r.Text)}
	}
	kind := map[wire.Kind]string{wire.Error: "ERROR", wire.ClientError: "CLIENT_ERROR", wire.ServerError: "SERVER_ERROR"}[r.Kind]
	return &refusal{fmt.Sprintf("%s %.100q", kind, r.Text)}
}

// end closes the connection, which ends reading and writing. Closing the TLS connection
// would send a close notification first, and could block.
func (c *conn) end() { _ = c.sock.Close() }

// encode encodes the commands of batch. A call that can't be sent is finished, and its place
// in batch is set to nil.
func (c *conn) encode(batch []*Call) {
	c.out.Reset()
	for i, x := range batch {
		err := c.command(x)
		if err == nil {
			continue
		}
		batch[i] = nil
		r := Miss
		switch err {
		case errNoMeta:
			x.stored = Unsupported
		case wire.ErrCAS:
			x.stored = Exists
		default:
			r = BadKey
		}
		x.finish(r)
	}
	c.unsent = c.out.Bytes()
}

func (c *conn) command(x *Call) (err error) {
	x.first = true
	switch {
	case x.cmd.Op == wire.MarkStale && c.protocol != Meta:
		return errNoMeta
	case c.protocol == Binary:
		x.opaque, err = c.binary(&x.cmd)
		return err
	case x.cmd.Op != wire.Get:
		return c.out.Command(&x.cmd)
	case c.protocol == Meta:
		cmd := x.cmd
		cmd.Op = wire.MetaGet
		return c.out.Command(&cmd)
	}
	x.first, err = c.out.Get(x.cmd.Key)
	return err
}

// flush writes the encoded commands. On an error it closes the connection, and the reader
// finishes the calls.
func (c *conn) flush() {
	var err error
	if c.raw == nil {
		_, err = c.nc.Write(c.unsent)
	} else if err = c.raw.Write(c.writable); err == nil {
		err = c.writeErr
	}
	c.unsent = nil
	c.server.metrics.batches.Inc()
	if err != nil {
		c.end()
	}
}

// writeRaw is called by raw.Write, first at once and then whenever the socket is writable,
// until it returns true.
func (c *conn) writeRaw(fd uintptr) bool {
	for len(c.unsent) > 0 {
		n, err := socket.Write(int(fd), c.unsent)
		if err == syscall.EAGAIN {
			return false
		}
		if err != nil {
			c.writeErr = err
			return true
		}
		c.unsent = c.unsent[n:]
	}
	return true
}

// arm sets a read deadline for the time when a call that is sent now times out. The lane's
// lock is held.
func (c *conn) arm(now int64) {
	if !c.armed {
		c.armed = true
		c.deadline(now + int64(min(c.server.client.cfg.FirstByteTimeout, c.server.client.cfg.Timeout)))
	}
}

func (c *conn) deadline(at int64) {
	_ = c.sock.SetReadDeadline(c.server.client.began.Add(time.Duration(at)))
}

// late is called when the read deadline has passed. It reports whether the oldest call has
// timed out, and moves the deadline if not.
func (c *conn) late() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *Call
	switch {
	case c.next < len(c.due):
		oldest = c.due[c.next]
	case len(c.sent) > 0:
		oldest = c.sent[0]
	default:
		c.armed = false
		_ = c.sock.SetReadDeadline(time.Time{})
		return false
	}
	cfg := &c.server.client.cfg
	at := min(oldest.sent+int64(cfg.Timeout), max(oldest.sent, c.lastRead)+int64(cfg.FirstByteTimeout))
	now := int64(c.server.client.now())
	switch {
	case now < at:
		c.deadline(at)
	case now-at > int64(schedulingDelay) && !c.excused:
		c.excused = true
		c.deadline(now + int64(schedulingDelay))
	default:
		return true
	}
	return false
}

// schedulingDelay is the delay after a deadline from which this process is taken to have
// been without CPU. The reply may then have arrived in time, so the socket is read once
// more.
const schedulingDelay = 10 * time.Millisecond

// fail finishes the calls that wait for replies when the connection ends with fault. It
// returns the result of server.failed.
func (c *conn) fail(calls []*Call, fault error) (down bool) {
	if c.server.client.ctx.Err() != nil {
		finish(calls, Down, false)
		return false
	}
	frame, rest := headFrame(calls)
	var refusal *refusal
	switch {
	case errors.Is(fault, errTimeout):
		down = c.server.failed(fault)
		finish(calls, Timeout, false)
	case errors.Is(fault, wire.ErrGarbled):
		down = c.server.failed(fault)
		finish(frame, Garbled, false)
		finish(rest, Down, true)
	case errors.As(fault, &refusal):
		down = c.server.failed(fault)
		finish(frame, Refused, false)
		finish(rest, Down, true)
	default:
		if len(calls) > 0 && !c.replied {
			down = c.server.failed(fault)
		}
		finish(calls, Down, c.replied)
	}
	return down
}

// headFrame splits off the calls that are answered together with the first.
func headFrame(calls []*Call) (frame, rest []*Call) {
	n := min(1, len(calls))
	for n < len(calls) && !calls[n].first {
		n++
	}
	return calls[:n], calls[n:]
}

func finish(calls []*Call, r Result, again bool) {
	for _, x := range calls {
		x.retry = again
		x.finish(r)
	}
}

// countClosed counts the end of the connection.
func (c *conn) countClosed() { c.server.metrics.open.Add(-1) }
