package origin

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/socket"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TransportConfig describes an address and how exchanges with it are made. Zero fields other
// than URL have defaults.
type TransportConfig struct {
	// Name and Member are the values of the series' labels "service" and "member". Member is
	// also the name of the origin in faults.
	Name, Member string
	// URL is http://host[:port][/prefix], https://... or unix:///path/of/socket; the prefix
	// is prepended to every target.
	URL string
	// TLS is used for https. Nil means the system's roots.
	TLS *tls.Config
	// ConnectTimeout bounds the making of a connection, including the TLS handshake. Default
	// 2s.
	ConnectTimeout time.Duration
	// HeadTimeout bounds the wait for an answer's head: from the last byte of the request,
	// or from the last interim answer. Default 60s.
	HeadTimeout time.Duration
	// StallTimeout bounds the wait for more of an answer's body, and for the origin to
	// accept more of a request's. It may take a quarter longer. Default 60s.
	StallTimeout time.Duration
	// ExpectTimeout bounds the wait for 100 (Continue) before the body of a request with
	// Expect is sent. Default 1s.
	ExpectTimeout time.Duration
	// MaxIdleConns is the maximum number of idle connections. Default 256.
	MaxIdleConns int
	// IdleTimeout is the maximum idle time of a connection. It should be shorter than the
	// origin's own. Default 25s.
	IdleTimeout time.Duration
	// MaxHead is the maximum length of an answer's head in bytes; a longer one is a Fault of
	// kind Garbage. Default 32 KiB.
	MaxHead int
	// BothFramings accepts answers that have chunks and a Content-Length, and ignores the
	// length. By default they are refused.
	BothFramings bool
	// Dialer makes the connections, without TLS. Nil means a net.Dialer.
	Dialer Dialer
	// Metrics receives the series. It may be nil.
	Metrics *telemetry.Registry
}

// Dialer makes connections, as net.Dialer does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Transport makes streaming exchanges with one address. It does not handle failures, except
// that it replaces an idle connection that turns out to be closed by a new one if that is
// safe. It is safe for concurrent use.
type Transport struct {
	cfg    TransportConfig
	host   []byte // the Host field
	prefix string // of all targets
	pool   *pool
	limits http1.AnswerLimits
	opened *telemetry.Counter // counts connections
}

// NewTransport validates cfg and returns a transport. No connection is made yet.
func NewTransport(cfg TransportConfig) (*Transport, error) {
	at, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("origin %s: %w", cfg.Member, err)
	}
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("origin %s: %w", cfg.Member, err)
	}
	t := &Transport{
		cfg:    cfg,
		host:   []byte(at.host),
		prefix: at.prefix,
		pool:   newPool(at, poolConfig{cfg.ConnectTimeout, cfg.MaxIdleConns, cfg.IdleTimeout, cfg.TLS}),
		limits: http1.AnswerLimits{Head: cfg.MaxHead, ForeignCoding: true, BothFramings: cfg.BothFramings},
		opened: cfg.Metrics.Counter("kasoku_upstream_connections_total", "Connections made to the member. As many as requests means that they are not kept.",
			"service", cfg.Name, "member", cfg.Member),
	}
	if cfg.Dialer != nil {
		t.pool.dialer = cfg.Dialer.DialContext
	}
	return t, nil
}

// complete sets the defaults and validates cfg.
func (cfg *TransportConfig) complete() error {
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 2*time.Second)
	cfg.HeadTimeout = cmp.Or(cfg.HeadTimeout, time.Minute)
	cfg.StallTimeout = cmp.Or(cfg.StallTimeout, time.Minute)
	cfg.ExpectTimeout = cmp.Or(cfg.ExpectTimeout, time.Second)
	cfg.MaxIdleConns = cmp.Or(cfg.MaxIdleConns, 256)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, 25*time.Second)
	cfg.MaxHead = cmp.Or(cfg.MaxHead, 32<<10)
	switch {
	case min(cfg.ConnectTimeout, cfg.HeadTimeout, cfg.StallTimeout, cfg.ExpectTimeout, cfg.IdleTimeout) < 0:
		return errors.New("timeouts must be above zero")
	case cfg.MaxIdleConns < 0 || cfg.MaxHead < 0:
		return errors.New("the limits of idle connections and of the head must be above zero")
	}
	return nil
}

// Close closes the idle connections. Exchanges in flight continue.
func (t *Transport) Close() { t.pool.close() }

// Exchange sends q and returns once the head of the final answer has arrived. The end of ctx
// interrupts it, and the reading of the body, at any point. The Inbound must be closed.
//
// The Fault reports whether the origin may have executed the request. Once Exchange has
// failed, or the Inbound is closed, q.Body is no longer read.
func (t *Transport) Exchange(ctx context.Context, q *Outbound) (*Inbound, *Fault) {
	in, again, f := t.attempt(ctx, q, false)
	attempts := 1
	if again {
		in, _, f = t.attempt(ctx, q, true)
		attempts++
	}
	if f != nil {
		f.Origin, f.Attempts = t.cfg.Member, attempts
		return nil, f
	}
	return in, nil
}

// attempt makes the exchange over one connection: an idle one if there is one and fresh is
// false. again reports whether the fault allows a second attempt.
func (t *Transport) attempt(ctx context.Context, q *Outbound, fresh bool) (in *Inbound, again bool, f *Fault) {
	if err := ctx.Err(); err != nil {
		return nil, false, &Fault{Kind: endKind(err), Err: err}
	}
	x := exchanges.Get().(*exchange)
	if err := x.composeHead(t, q); err != nil {
		x.free()
		return nil, false, &Fault{Kind: Unprepared, Err: err}
	}
	head := cmp.Or(q.HeadTimeout, t.cfg.HeadTimeout)
	in = inbounds.Get().(*Inbound)
	in.t, in.ctx, in.x, in.headTime, in.stallTime = t, ctx, x, head, cmp.Or(q.StallTimeout, t.cfg.StallTimeout)
	left, err := false, socket.ErrNotIdle
	for err == socket.ErrNotIdle {
		if in.c, err = t.connect(ctx, fresh, head); err != nil {
			x.free()
			return nil, false, newFault(ctx, Dial, false, err)
		}
		if left, err = in.sendRequest(q); err == socket.ErrNotIdle {
			in.watch.Stop()
			in.c.Close()
		}
	}
	if err == nil || left && !isTimeout(err) && !errors.Is(err, errWithheld) {
		// A request that was not sent completely may nevertheless be answered.
		if e := in.readHead(q); e == nil || err == nil {
			err = e
		}
	}
	if err == nil {
		return in, false, nil
	}
	silent := !in.responding
	in.end(err)
	f = in.err.(*Fault)
	f.Reached = left
	return nil, in.c.used && !fresh && silent && f.Kind == Reset && q.mayRepeat(left), f
}

// connect returns a connection with the deadline of the head.
func (t *Transport) connect(ctx context.Context, fresh bool, head time.Duration) (*conn, error) {
	now := time.Now()
	if !fresh {
		if c := t.pool.getIdle(now.Add(head)); c != nil {
			return c, nil
		}
	}
	c, err := t.pool.dial(ctx, now.Add(t.cfg.ConnectTimeout))
	if err != nil {
		return nil, err
	}
	t.opened.Inc()
	return c, c.SetDeadline(time.Now().Add(head))
}
