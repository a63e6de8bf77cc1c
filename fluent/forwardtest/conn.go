package forwardtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// conn is one connection. One goroutine reads; another one writes acknowledgements, in
// order.
type conn struct {
	r         *Receiver
	raw       net.Conn // below TLS
	net.Conn           // for reading and writing
	behaviour Behaviour
	number    int
	read      int // bytes read so far

	once   sync.Once
	ctx    context.Context // cancelled when the connection is closed
	cancel context.CancelFunc
	ended  bool // reading has ended; guarded by Receiver.mu
	acks   chan ack
	acking sync.WaitGroup
}

// ack is a pending acknowledgement.
type ack struct {
	chunk string
	after time.Time
}

func newConn(r *Receiver, nc net.Conn, b Behaviour, number int) *conn {
	c := &conn{r: r, raw: nc, Conn: nc, behaviour: b, number: number, acks: make(chan ack, 1<<16)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if r.opt.TLS != nil {
		c.Conn = tls.Server(nc, r.opt.TLS)
	}
	return c
}

// close ends the connection, optionally by a reset.
func (c *conn) close(reset bool) {
	c.once.Do(func() {
		c.cancel()
		if tcp, ok := c.raw.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
			_ = c.raw.Close()
			return
		}
		_ = c.Conn.Close()
	})
	c.end()
}

// end releases held acknowledgements at the end of the test.
func (c *conn) end() {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	c.ended = true
	c.r.changed.Broadcast()
}

// Read counts bytes, and ends the connection if its behaviour requires it.
func (c *conn) Read(b []byte) (int, error) {
	limit := c.behaviour.CloseAfter
	if limit > 0 {
		if c.read >= limit {
			c.close(c.behaviour.Reset)
			return 0, net.ErrClosed
		}
		b = b[:min(len(b), limit-c.read)]
	}
	n, err := c.Conn.Read(b)
	c.read += n
	return n, err
}

func (c *conn) run() {
	if c.behaviour.Stall {
		<-c.ctx.Done()
		return
	}
	if c.behaviour.HalfOpen {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	c.acking.Add(1)
	go c.acknowledge()
	if err := c.serve(); err != nil {
		if !gone(err) {
			c.r.fail(fmt.Errorf("connection %d: %w", c.number, err))
		}
		c.end()
	}
	close(c.acks)
	c.acking.Wait()
}

// gone reports whether err means that the connection has ended, rather than that its bytes
// are invalid.
func gone(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

func (c *conn) serve() error {
	in := msgp.NewReaderSize(c, 64<<10)
	if err := c.greet(in); err != nil {
		return err
	}
	for {
		m, events, err := readMessage(in, c.r.opt.Count)
		if err != nil {
			return err
		}
		m.Conn = c.number
		c.r.take(m, events)
		if m.Chunk != "" {
			if c.behaviour.AckClose {
				return nil
			}
			c.acks <- ack{m.Chunk, time.Now().Add(c.behaviour.AckDelay)}
		}
		if c.r.opt.NoKeepalive {
			return nil
		}
	}
}

// acknowledge writes acknowledgements when they are due. It returns when acks is closed and
// empty.
func (c *conn) acknowledge() {
	defer c.acking.Done()
	for a := range c.acks {
		if c.behaviour.AckNever || !c.mayAck(a.after) {
			continue
		}
		if c.behaviour.AckWrong {
			a.chunk = "bm90IHdoYXQgd2FzIHNlbnQ="
		}
		b := msgp.AppendMapHeader(nil, 1)
		b = msgp.AppendString(b, "ack")
		b = msgp.AppendString(b, a.chunk)
		_, _ = c.Conn.Write(b) // the reading side notices errors
	}
}

// mayAck waits while acknowledgements are held, and until their time. It reports false if
// the connection has ended meanwhile.
func (c *conn) mayAck(after time.Time) bool {
	c.r.mu.Lock()
	for c.r.held && !c.ended {
		c.r.changed.Wait()
	}
	held := c.r.held
	c.r.mu.Unlock()
	if held {
		return false
	}
	if time.Until(after) > 0 {
		due, stop := context.WithDeadline(c.ctx, after)
		defer stop()
		<-due.Done()
	}
	return c.ctx.Err() == nil
}
