//go:build go1.25

package fluent

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kasoku/kasoku/fluent/forwardtest"
)

// deadConn is a connection whose peer has disappeared, before this is detected: writes succeed or
// fail, and after a while reads return the given result.
type deadConn struct {
	net.Conn // one end of a pipe, for methods that the test does not use
	writeErr error
	after    time.Duration
	answer   string // then EOF
}

func (c *deadConn) Write(b []byte) (int, error) {
	if c.writeErr != nil {
		return 0, c.writeErr
	}
	return len(b), nil
}

func (c *deadConn) Read(b []byte) (int, error) {
	time.Sleep(c.after) // on the bubble's clock
	if c.answer == "" {
		return 0, io.EOF
	}
	n := copy(b, c.answer)
	c.answer = c.answer[n:]
	return n, nil
}

// firstDead dials dead connections n times, and r after that.
func firstDead(n int, r *forwardtest.Receiver, dead deadConn) Option {
	return WithDial(func(ctx context.Context, network, address string) (net.Conn, error) {
		if n--; n < 0 {
			return r.Dial(ctx, network, address)
		}
		c := dead
		c.Conn, _ = net.Pipe()
		return &c, nil
	})
}

// Batches written to a connection that turns out to be dead a moment later are sent again,
// even without acknowledgements.
func TestNewConnectionProvesDead(t *testing.T) {
	f := func(dead deadConn, wantErr error) {
		t.Helper()
		for _, ack := range []bool{true, false} {
			bubble(t, forwardtest.Options{}, func(t *testing.T, r *forwardtest.Receiver, s *fakeSource) {
				s.deliver([]string{"a"}, firstDead(3, r, dead), WithAck(ack))
				s.put(10)
				s.await(10)
				synctest.Wait()
				inOrder(t, r.Events(), 20)
				failures := s.failures()
				if len(failures) != 3 {
					t.Errorf("acks %v: failures %v", ack, failures)
				}
				for _, err := range failures {
					if !errors.Is(err, wantErr) {
						t.Errorf("acks %v: failure %v; want %v", ack, err, wantErr)
					}
				}
			})
		}
	}
	f(deadConn{after: 50 * time.Millisecond}, io.EOF)
	f(deadConn{after: 50 * time.Millisecond, answer: "\x92\xa4HELO\x80"}, ErrKeyRequired)
	// The server's reason is reported rather than the error of the write.
	f(deadConn{after: 50 * time.Millisecond, answer: "\x92\xa4HELO\x80", writeErr: syscall.EPIPE}, ErrKeyRequired)
	f(deadConn{after: 50 * time.Millisecond, writeErr: syscall.EPIPE}, syscall.EPIPE)
}

// deafConn does not notice the end of the connection by reading.
type deafConn struct {
	*net.TCPConn
	mu     sync.Mutex
	due    time.Time
	moved  chan struct{} // due has changed
	closed chan struct{}
	once   sync.Once
}

func (c *deafConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = t
	close(c.moved)
	c.moved = make(chan struct{})
	return nil
}

func (c *deafConn) Read([]byte) (int, error) {
	for {
		c.mu.Lock()
		due, moved := c.due, c.moved
		c.mu.Unlock()
		var passed <-chan time.Time
		if !due.IsZero() {
			passed = time.After(time.Until(due))
		}
		select {
		case <-passed:
			return 0, os.ErrDeadlineExceeded
		case <-c.closed:
			return 0, net.ErrClosed
		case <-moved:
		}
	}
}

func (c *deafConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.TCPConn.Close()
}

// A sender checks the socket before it writes a batch: the reader may not have noticed yet that the
// connection is dead, and a write into it would succeed.
func TestSocketIsCheckedBeforeWriting(t *testing.T) {
	for _, end := range []func(*forwardtest.Receiver){(*forwardtest.Receiver).CloseConns, (*forwardtest.Receiver).ResetConns} {
		r := forwardtest.New(t, forwardtest.Options{})
		var first *net.TCPConn
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, address)
			if err != nil || first != nil {
				return c, err
			}
			first = c.(*net.TCPConn)
			return &deafConn{TCPConn: first, moved: make(chan struct{}), closed: make(chan struct{})}, nil
		}
		s := newFakeSource(t)
		_, stop := s.deliver([]string{r.Address()}, WithDial(dial), WithAck(false))
		s.put(1)
		s.await(1)
		r.Wait(t, 2)
		end(r)
		if _, err := first.Read(make([]byte, 1)); err == nil { // waits until the kernel has noticed
			t.Fatal("the server sent something")
		}
		s.put(1)
		s.await(2)
		stop()
		r.WaitOpen(t, 0)
		inOrder(t, r.Events(), 4)
		if len(s.failures()) != 0 {
			t.Errorf("failures %v", s.failures())
		}
	}
}
