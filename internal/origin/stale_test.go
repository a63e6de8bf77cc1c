package origin

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
)

// brokenConn is a connection that accepts no more data once gone is set, as if its peer was
// lost.
type brokenConn struct {
	net.Conn
	gone *atomic.Bool
}

func (d brokenConn) Write(b []byte) (int, error) {
	if d.gone.Load() {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	return d.Conn.Write(b)
}

// TestNothingWritten sends a write over an idle connection that accepts nothing. The transport
// uses a new connection. If that fails too, the origin was not reached.
func TestNothingWritten(t *testing.T) {
	f := func(name string, second error, check func(*testing.T, *faulty, *Response, error)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gone atomic.Bool
				s := &faulty{script: []step{reply(200, "{}")}, dials: []error{nil, second}}
				c := s.client(t, Config{Retry: Retry{Attempts: 1}})
				c.pool.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					gone.Store(false)
					conn, err := s.dial(ctx, network, addr)
					if err != nil {
						return nil, err
					}
					return brokenConn{conn, &gone}, nil
				}
				if _, err := c.Do(t.Context(), post("first", false)); err != nil {
					t.Fatal(err)
				}
				gone.Store(true)
				resp, err := c.Do(t.Context(), post("second", false))
				check(t, s, resp, err)
			})
		})
	}
	f("another connection serves", nil, func(t *testing.T, s *faulty, resp *Response, err error) {
		if err != nil || resp.Attempts != 1 || s.count() != 2 || s.dialed != 2 {
			t.Errorf("got %+v, %v; %d executed, %d dialed; want 2, 2", resp, err, s.count(), s.dialed)
		}
	})
	f("no other connection", syscall.ECONNREFUSED, func(t *testing.T, s *faulty, resp *Response, err error) {
		wantFault(t, err, Dial, false, 1)
	})
}
