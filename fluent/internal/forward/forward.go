// Package forward implements a connection to a server of the Fluentd forward protocol:
// connecting, TLS, the handshake with shared key and user, messages in each mode, and
// acknowledgements. The caller decides when to send, and when to send again after a failure.
//
// A connection has one writer and one reader, which may be two goroutines:
//
//	c, err := forward.Dial(ctx, &options)
//	go func() { id, err := c.ReadAck(); ... }()
//	err = c.Write(&message)
//
// All input from a server is bounded: it can't make the client wait without limit or
// allocate more than a few KiB.
package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrKeyRequired is returned if a server sends HELO to a client without a shared key: it
// accepts no events from that client.
var ErrKeyRequired = errors.New("server requires a shared key")

// errSlow is the cause of a context that ended because of DialTimeout.
var errSlow = errors.New("dial timeout")

// Options configure how to connect and how to send. They must not be changed.
type Options struct {
	Network string // "tcp" or "unix"
	Address string // "host:port" or a file's name

	// Dial replaces a net.Dialer. It must return when ctx ends.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	TLS *tls.Config // nil means plain text; an empty ServerName means the host of Address

	SharedKey          string // "" means no handshake
	Hostname           string // the client's name in the handshake
	Username, Password string // for servers that require a user

	DialTimeout  time.Duration // for connecting, TLS and handshake together; 0 for none
	WriteTimeout time.Duration // for one Write; 0: none

	Single      bool // sends each event as a message of its own
	Compression Compression
	Seconds     bool // sends times as integers
}

// Dial connects, and returns when the connection is ready for Write. Its error describes the
// failed step: connecting, TLS or the handshake, with the server's reason.
func Dial(ctx context.Context, o *Options) (*Conn, error) {
	if o.DialTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.DialTimeout, errSlow)
		defer cancel()
	}
	start := time.Now()
	raw, err := o.dialer()(ctx, o.Network, o.Address)
	if err != nil {
		return nil, err
	}
	c := newConn(raw, o)
	c.trip = time.Since(start)
	if err := c.open(ctx); err != nil {
		c.Abort()
		return nil, err
	}
	return c, nil
}

func (o *Options) dialer() func(ctx context.Context, network, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial
	}
	// A peer that disappears is detected within a minute.
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}
	return d.DialContext
}

// open makes the TLS and protocol handshakes before ctx ends.
func (c *Conn) open(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	err := c.startTLS(ctx)
	if err == nil && c.o.SharedKey != "" {
		err = c.handshake()
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) == errSlow:
		return fmt.Errorf("not ready within %v: %w", c.o.DialTimeout, err)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return err
}

func (c *Conn) startTLS(ctx context.Context) error {
	if c.o.TLS == nil {
		return nil
	}
	config := c.o.TLS
	if config.ServerName == "" && !config.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(c.o.Address)
		if err != nil {
			return fmt.Errorf("TLS: %w", err)
		}
		config = config.Clone()
		config.ServerName = host
	}
	t := tls.Client(c.raw, config)
	c.Conn = t
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	return nil
}
