package dax

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestUnauthenticatedIdle checks that a connection without an authenticated request ends when
// it has been idle for 10 s, and that it may be idle for any time afterwards.
func TestUnauthenticatedIdle(t *testing.T) {
	const idle = 10 * time.Second
	ends := func(what string, change func(*Config), ask func(c *client)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, change)
			c := r.hello("Go v1")
			if ask != nil {
				ask(c)
			}
			begin := time.Now()
			c.expectEnd()
			if took := time.Since(begin); took != idle {
				t.Errorf("%s: the connection ended after %v, want %v", what, took, idle)
			}
			if n := r.srv.metrics.unauthenticated.Value(); n != 1 {
				t.Errorf("%s: %d connections were counted, want 1", what, n)
			}
		})
	}
	remainsOpen := func(what string, change func(*Config), ask func(c *client)) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, change)
			c := r.hello("Go v1")
			time.Sleep(idle - time.Second)
			ask(c)
			time.Sleep(24 * time.Hour)
			c.expectSilence()
			if n := r.srv.metrics.unauthenticated.Value(); n != 0 {
				t.Errorf("%s: %d connections were counted, want none", what, n)
			}
		})
	}
	open := func(*Config) {}
	echo := func(c *client) { c.expect(askEcho+"4101", "804101") }
	ends("open, no request", open, nil)
	remainsOpen("open, a request", open, echo)
	ends("no proof", withKeys(t), nil)
	ends("a request without proof", withKeys(t), func(c *client) {
		c.expectError(askEcho+"4101", "requires authentication", unauthenticated...)
		time.Sleep(idle - time.Second)
		c.expectError(askEcho+"4101", "requires authentication", unauthenticated...)
	})
	ends("a wrong secret", withKeys(t), func(c *client) { c.send(authorizeCall("FULL", "two", time.Now())); synctest.Wait() })
	ends("an unknown key", withKeys(t), func(c *client) { c.send(authorizeCall("OTHER", "one", time.Now())); synctest.Wait() })
	remainsOpen("a proof", withKeys(t), func(c *client) { c.send(authorizeCall("FULL", "one", time.Now())) })
	remainsOpen("a request with a proof", withKeys(t), func(c *client) { c.expect(authorizeCall("FULL", "one", time.Now())+askEcho+"4101", "804101") })
}

// TestUnauthenticatedReset checks that the connection of version 2 of the Go client, which
// retries only after a reset, is reset, and that others just end.
func TestUnauthenticatedReset(t *testing.T) {
	f := func(preamble string, want error) {
		t.Helper()
		r := newRig(t, func(c *Config) { c.Listen, c.Limits.UnauthenticatedIdle = "127.0.0.1:0", time.Millisecond })
		c := r.hello(preamble)
		if _, err := c.nc.Read(make([]byte, 1)); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", preamble, err, want)
		}
	}
	f("Go v2", syscall.ECONNRESET)
	f("Go v1", io.EOF)
	f("Python", io.EOF)
}

func TestConnectionsPerClient(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Listen, c.Limits.ConnectionsPerClient = "127.0.0.1:0", 2 })
	a, b := r.hello("Go v1"), r.hello("Go v1")
	a.expect(askEcho+"4101", "804101")
	b.expect(askEcho+"4101", "804101")
	r.dial().expectEnd()
	if n := r.srv.metrics.perClient.Value(); n != 1 {
		t.Errorf("%d connections were counted as refused", n)
	}
	_ = a.nc.Close()
	until(func() bool { return r.srv.Open() == 1 })
	c := r.hello("Go v1")
	c.expect(askEcho+"4101", "804101")
}
