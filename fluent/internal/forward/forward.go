// Package forward is a connection to one server of the Fluentd forward
// protocol: connecting, TLS, the handshake with shared key and user, messages
// in each mode, and acknowledgements. What is sent, when, and again after a
// failure, is for who uses it.
//
// A connection has one writer and one reader, which may be two goroutines:
//
//	c, err := forward.Dial(ctx, &options)
//	go func() { id, err := c.ReadAck(); ... }()
//	err = c.Write(&message)
//
// Everything that a server sends is bounded: no claim of its makes the client
// wait without limit or allocate more than a few KiB.
package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrKeyRequired is what a server's HELO means to a client without a shared
// key: it takes no events from it.
var ErrKeyRequired = errors.New("server requires a shared key")

// errSlow is the cause of a context that ended for DialTimeout.
var errSlow = errors.New("dial timeout")

// Options say how to connect and how to send. They are read only.
type Options struct {
	Network string // "tcp" or "unix"
	Address string // "host:port" or a file's name

	// Dial replaces a net.Dialer. It must return when ctx ends.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	TLS *tls.Config // nil: plain text. Without ServerName, the host of Address

	SharedKey          string // "": no handshake
	Hostname           string // the client's name in the handshake
	Username, Password string // for servers that ask for a user

	DialTimeout  time.Duration // for connecting, TLS and handshake together; 0: none
	WriteTimeout time.Duration // for one Write; 0: none

	Single      bool // sends each event as a message of its own
	Compression Compression
	Seconds     bool // sends times as integers
}

// Dial connects, and returns when the connection is ready for Write. Its error
// says what failed: connecting, TLS or the handshake, with the server's reason.
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
	// A peer that vanished without a word is noticed within a minute.
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3}}
	return d.DialContext
}

// open does TLS and the handshake before ctx ends.
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
