package origin

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// pool keeps the idle connections to one origin and makes new ones. The most recently used
// connection is reused first, so that few connections are busy and the rest can expire. Each
// request has a connection to itself.
type pool struct {
	dialer      func(ctx context.Context, network, address string) (net.Conn, error)
	network     string
	address     string
	secure      *tls.Config // nil without TLS
	maxIdle     int
	idleTimeout time.Duration
	guard       *breaker // may refuse new connections; may be nil

	mu     sync.Mutex // leaf; guards all fields below
	idle   []*conn    // in the order in which they were put here
	closed bool
	timer  *time.Timer // closes the oldest; nil while idle is empty
}

// poolConfig configures how connections are made and kept.
type poolConfig struct {
	connectTimeout time.Duration // for the dial alone
	maxIdle        int
	idleTimeout    time.Duration
	tls            *tls.Config // nil: the system's roots
}

// newPool returns a pool of connections that speak only HTTP/1.1. It ignores the proxy
// configuration of the environment. A TLS connection resumes the session of an earlier one,
// which spares both sides the signature and its verification.
func newPool(at address, how poolConfig) *pool {
	dialer := &net.Dialer{Timeout: how.connectTimeout, KeepAlive: 15 * time.Second}
	p := &pool{dialer: dialer.DialContext, maxIdle: how.maxIdle, idleTimeout: how.idleTimeout}
	p.network, p.address = at.dialTarget()
	if at.secure {
		if p.secure = how.tls.Clone(); p.secure == nil {
			p.secure = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if p.secure.ServerName == "" {
			p.secure.ServerName = at.server
		}
		p.secure.NextProtos = []string{"http/1.1"}
		if p.secure.ClientSessionCache == nil {
			// The pool has one origin, and crypto/tls stores a session for each server name.
			p.secure.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		}
	}
	return p
}

// get returns an idle connection that is still usable, or a new one, with its deadline set.
func (p *pool) get(ctx context.Context, deadline time.Time) (*conn, error) {
	if c := p.getIdle(deadline); c != nil {
		return c, nil
	}
	c, err := p.dial(ctx, deadline)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(deadline)
}

// getIdle returns an idle connection that is still usable, with its deadline set, or nil.
func (p *pool) getIdle(deadline time.Time) *conn {
	for c := p.pop(); c != nil; c = p.pop() {
		if c.reusable(deadline) {
			return c
		}
		c.Close()
	}
	return nil
}

// pop removes and returns the most recently used connection, or nil.
func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return c
}

// put keeps a connection for the next request, or closes it if there are enough.
func (p *pool) put(c *conn) {
	c.used, c.since = true, time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.maxIdle {
		c.Close()
		return
	}
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.idleTimeout, p.expire)
	}
}

// expire closes the connections idle for too long and schedules itself for the next.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, n := time.Now(), 0
	for n < len(p.idle) && now.Sub(p.idle[n].since) >= p.idleTimeout {
		p.idle[n].Close()
		n++
	}
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	if len(p.idle) == 0 || p.closed {
		p.timer = nil
		return
	}
	p.timer.Reset(p.idleTimeout - now.Sub(p.idle[0].since))
}

// close closes the idle connections; connections in use are closed when they are put back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		c.Close()
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}

// dial makes a connection, unless the guard refuses it.
func (p *pool) dial(ctx context.Context, deadline time.Time) (*conn, error) {
	if !p.guard.beginConnecting() {
		return nil, errConnectLimit
	}
	c, err := p.connect(ctx, deadline)
	p.guard.endConnecting(err, errors.Is(ctx.Err(), context.Canceled))
	return c, err
}

func (p *pool) connect(ctx context.Context, deadline time.Time) (*conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, err := p.dialer(ctx, p.network, p.address)
	if err != nil {
		return nil, err
	}
	c := newConn(raw)
	if p.secure == nil {
		return c, nil
	}
	if err := c.encrypt(ctx, p.secure); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
