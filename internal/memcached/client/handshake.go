package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/kasoku/kasoku/internal/memcached/wire"
)

// dialer makes connections, as net.Dialer does.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// connect returns a connection that is ready for calls. With Auto it negotiates the
// protocol. If the server closes the connection upon the probe, as twemproxy does, a new
// connection speaks text.
func (s *server) connect() (*conn, error) {
	p := s.client.cfg.Protocol
	c, err := s.open(p)
	if p == Auto && errors.Is(err, io.EOF) {
		c, err = s.open(Text)
	}
	if err != nil {
		return nil, fmt.Errorf("memcached: server %s: %w", s.at.Address, err)
	}
	s.protocol.Store(uint32(c.protocol))
	return c, nil
}

func (s *server) open(p Protocol) (*conn, error) {
	cfg := &s.client.cfg
	ctx, cancel := context.WithTimeout(s.client.ctx, cfg.ConnectTimeout)
	defer cancel()
	network, address := s.at.endpoint()
	sock, err := cfg.dial.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	nc := sock
	if s.at.TLS != nil {
		t := tls.Client(sock, s.tls())
		if err := t.HandshakeContext(ctx); err != nil {
			sock.Close()
			return nil, err
		}
		nc = t
	}
	c := newConn(s, nc, sock)
	if err := c.handshake(p); err != nil {
		c.end()
		c.countClosed()
		return nil, err
	}
	return c, nil
}

// tls returns the configuration with the server's name, if it has none.
func (s *server) tls() *tls.Config {
	cfg := s.at.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		cfg = cfg.Clone()
		cfg.ServerName = "localhost"
		if host, _, err := net.SplitHostPort(s.at.Address); err == nil {
			cfg.ServerName = host
		}
	}
	return cfg
}

// handshake logs in, negotiates the protocol and queries the largest item's size.
func (c *conn) handshake(p Protocol) error {
	cfg := &c.server.client.cfg
	stop := context.AfterFunc(c.server.client.ctx, c.end)
	defer stop()
	if err := c.sock.SetDeadline(time.Now().Add(cfg.FirstByteTimeout)); err != nil {
		return err
	}
	c.protocol = p
	steps := [...]func() error{c.login, c.negotiate, c.settings}
	if p == Binary {
		steps = [...]func() error{c.binaryLogin, c.binaryProbe, c.binarySettings}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if c.in.Buffered() > 0 {
		return garbled("more than was requested")
	}
	return c.sock.SetDeadline(time.Time{})
}

// login is ASCII authentication: a set command with user and password as its value.
func (c *conn) login() error {
	a := c.server.client.cfg.Auth
	if a == nil {
		return nil
	}
	switch err := c.roundTrip(&wire.Command{Op: wire.Set, Key: []byte("auth"), Value: []byte(a.User + " " + a.Password)}); {
	case errors.Is(err, wire.ErrGarbled):
		return err
	case err != nil:
		return fmt.Errorf("no answer to the login (a server with SASL, -S, takes only protocol: binary): %w", err)
	case c.reply.Kind >= wire.Error:
		return refused(&c.reply)
	case c.reply.Kind != wire.Stored:
		return garbled("the login is answered by a reply of kind %d", c.reply.Kind)
	}
	return nil
}

// negotiate finds out the protocol, and that the server answers.
func (c *conn) negotiate() error {
	if c.protocol != Text {
		if err := c.roundTrip(&wire.Command{Op: wire.Probe}); err != nil {
			return err
		}
		if c.reply.Kind == wire.NoOp {
			c.protocol = Meta
			return nil
		}
		if c.protocol == Meta || c.reply.Kind != wire.Error && c.reply.Kind != wire.ClientError {
			return fmt.Errorf("no meta protocol: %w", refused(&c.reply))
		}
		c.protocol = Text
	}
	if err := c.roundTrip(&wire.Command{Op: wire.Version}); err != nil {
		return err
	}
	if c.reply.Kind != wire.Release && c.reply.Kind != wire.Error {
		return refused(&c.reply)
	}
	return nil
}

// settings queries the size of the largest item from a server with the meta protocol, which
// is memcached itself. Others might close the connection.
func (c *conn) settings() error {
	if c.protocol != Meta {
		return nil
	}
	err := c.roundTrip(&wire.Command{Op: wire.Settings})
	for ; err == nil && c.reply.Kind == wire.Stat; err = c.readLine() {
		name, value, _ := bytes.Cut(c.reply.Text, []byte(" "))
		c.setting(name, value)
	}
	return err
}

// setting records one of the server's settings.
func (c *conn) setting(name, value []byte) {
	if string(name) != "item_size_max" {
		return
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		c.server.largest.Store(n)
	}
}

// roundTrip sends one command of the handshake and reads one line of its reply.
func (c *conn) roundTrip(cmd *wire.Command) error {
	c.out.Reset()
	if err := c.out.Command(cmd); err != nil {
		return err
	}
	if _, err := c.nc.Write(c.out.Bytes()); err != nil {
		return err
	}
	return c.readLine()
}

func (c *conn) readLine() error {
	line, err := c.readUntil(c.in.Line)
	if err == nil && !c.reply.Parse(line) {
		err = garbled("a line like %.60q", line)
	}
	return err
}

// readUntil reads until take returns something.
func (c *conn) readUntil(take func() ([]byte, error)) ([]byte, error) {
	for {
		b, err := take()
		if err != nil || b != nil {
			return b, err
		}
		n, err := c.nc.Read(c.in.Room())
		c.in.Filled(n)
		if n == 0 && err != nil {
			return nil, err
		}
	}
}
