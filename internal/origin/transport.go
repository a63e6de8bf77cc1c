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
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TransportConfig describes one address and how exchanges with it are made. The
// zero value of every field but URL means its default.
type TransportConfig struct {
	// Name and Member are the values of the series' labels "service" and "member".
	// Member is also what faults call the origin.
	Name, Member string
	// URL is http://host[:port][/prefix], https://... or unix:///path/of/socket; the
	// prefix is put before every target.
	URL string
	// TLS is used for https. Nil means the system's roots.
	TLS *tls.Config
	// ConnectTimeout bounds the making of a connection, with the handshake of TLS.
	// Default 2s.
	ConnectTimeout time.Duration
	// HeadTimeout bounds the wait for an answer's head: from the last byte of the
	// request that was sent, or from the last interim answer. Default 60s.
	HeadTimeout time.Duration
	// StallTimeout bounds the wait for more of an answer's body, and for the origin to
	// take more of a request's. It may take a quarter longer. Default 60s.
	StallTimeout time.Duration
	// ExpectTimeout is how long the origin is waited for before the body of a request
	// is sent that expects 100 (Continue). Default 1s.
	ExpectTimeout time.Duration
	// MaxIdleConns is how many idle connections are kept. Default 256.
	MaxIdleConns int
	// IdleTimeout is how long an unused connection is kept. It should be shorter than
	// the origin's own. Default 25s.
	IdleTimeout time.Duration
	// MaxHead is the size of one answer's head in bytes; a longer one is a Fault of
	// kind Garbage. Default 32 KiB.
	MaxHead int
	// BothFramings takes answers with chunks and a Content-Length by their chunks. By
	// default they are refused.
	BothFramings bool
	// Dialer makes the connections; TLS comes on top. Nil is a net.Dialer.
	Dialer Dialer
	// Metrics takes the series. Nil keeps none.
	Metrics *telemetry.Registry
}

// Dialer makes connections, as net.Dialer does.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Transport makes streaming exchanges with one address. It decides nothing about
// failure but one thing: a kept connection that dies without a word is replaced by a
// new one if that is safe. It is safe for concurrent use.
type Transport struct {
	cfg    TransportConfig
	host   []byte // the Host field
	prefix string // of all targets
	pool   *pool
	limits http1.AnswerLimits
	opened *telemetry.Counter // connections
}

// NewTransport checks cfg and makes a transport. It connects to nothing yet.
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

// complete fills the defaults in and says what is impossible.
func (cfg *TransportConfig) complete() error {
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	setDefault(&cfg.ConnectTimeout, 2*time.Second)
	setDefault(&cfg.HeadTimeout, time.Minute)
	setDefault(&cfg.StallTimeout, time.Minute)
	setDefault(&cfg.ExpectTimeout, time.Second)
	setDefault(&cfg.MaxIdleConns, 256)
	setDefault(&cfg.IdleTimeout, 25*time.Second)
	setDefault(&cfg.MaxHead, 32<<10)
	switch {
	case min(cfg.ConnectTimeout, cfg.HeadTimeout, cfg.StallTimeout, cfg.ExpectTimeout, cfg.IdleTimeout) < 0:
		return errors.New("timeouts must be above zero")
	case cfg.MaxIdleConns < 0 || cfg.MaxHead < 0:
		return errors.New("the limits of idle connections and of the head must be above zero")
	}
	return nil
}

// Close drops the idle connections. Exchanges under way go on.
func (t *Transport) Close() { t.pool.close() }

// Exchange sends q and returns when the head of the final answer has come. The end
// of ctx interrupts it, and the reading of the body, at any point. The Inbound must be
// closed.
//
// A Fault says whether the origin may have executed the request. Once Exchange has
// failed, or the Inbound is closed, nothing reads q.Body any more.
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

// attempt makes the exchange over one connection: a kept one if there is one, and
// it need not be fresh. again is true if another one may be tried after the fault.
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
	c, err := t.connect(ctx, fresh, head)
	if err != nil {
		x.free()
		return nil, false, newFault(ctx, Dial, false, err)
	}
	in = &Inbound{t: t, ctx: ctx, c: c, x: x, headTime: head, stallTime: cmp.Or(q.StallTimeout, t.cfg.StallTimeout)}
	left, err := in.sendRequest(q)
	if err == nil || left && !isTimeout(err) {
		// What was not taken whole may have been answered all the same.
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
	return nil, c.used && !fresh && silent && f.Kind == Reset && q.mayRepeat(left), f
}

// connectTimeout returns a connection whose deadline is that of the head.
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
