package client

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Protocol is what is spoken with a server.
type Protocol uint8

const (
	// Auto asks each new connection whether it understands the meta protocol, and else
	// speaks Text; before the first connection it stands for "not known".
	Auto Protocol = iota
	// Text is `get`, which every server and every proxy understands.
	Text
	// Meta is `mg`: the reply tells the time that is left and who is to refresh.
	Meta
	// Binary is GETK, for servers that speak nothing else: those with SASL.
	Binary
)

func (p Protocol) String() string { return [...]string{"auto", "text", "meta", "binary"}[p] }

// Server is one server; its place in Config.Servers is its number.
type Server struct {
	// Address is "host:port" or "unix:/path".
	Address string
	// TLS encrypts if it is not nil. Without a ServerName the host's is taken.
	TLS *tls.Config
}

// endpoint gives what to dial.
func (s *Server) endpoint() (network, address string) {
	if path, ok := strings.CutPrefix(s.Address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", s.Address
}

func (s *Server) check() error {
	network, address := s.endpoint()
	if network == "unix" {
		if address == "" {
			return errors.New("a Unix socket is written unix:/path")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil && port == "" {
		return fmt.Errorf("%q names no port", address)
	}
	return err
}

// Auth is the user whom servers with -Y (ASCII authentication) ask for, and with Binary
// those with -S (SASL), by PLAIN.
type Auth struct{ User, Password string }

// Breaker says when a server is left alone.
type Breaker struct {
	// Failures is how often in a row, without a reply between, a connection must be
	// refused, end before it has served or bring a garbled reply, for the server to count
	// as down, however many calls wait each time. One that is silent for too long, when
	// it is asked or connected to, counts at once. Default 3.
	Failures int
	// RetryEvery is the longest pause, give or take a tenth, between attempts to connect to
	// a server that is down. The first is made at once, and pauses begin with a sixteenth.
	// Default 500ms.
	RetryEvery time.Duration
}

// Config describes servers and how they are asked. The zero value of every field but
// Servers means its default.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name    string
	Servers []Server
	// Protocol is what is spoken with all servers. Default Auto.
	Protocol Protocol
	// Auth is sent first on each connection if it is not nil.
	Auth *Auth
	// Connections is how many connections a server gets at most. Default one for every
	// four CPUs, at least one.
	Connections int
	// ConnectTimeout bounds the making of a connection, with the handshake of TLS.
	// Default 100ms.
	ConnectTimeout time.Duration
	// FirstByteTimeout is how long a server may be silent while it owes a reply. Default
	// 250ms.
	FirstByteTimeout time.Duration
	// Timeout bounds the time from sending a command to the end of its reply. When it or
	// FirstByteTimeout has passed, all calls on the connection fail. Default 500ms.
	Timeout time.Duration
	Breaker Breaker
	// MaxValue is the size of the largest value in bytes that is taken from a server or
	// sent to it. Default 8 MiB.
	MaxValue int64
	// Metrics takes the series. Nil keeps none.
	Metrics *telemetry.Registry
	// Log is told when a server is found to be down, and when it is back. Nil is not.
	Log *slog.Logger

	dial dialer // of tests
}

// complete fills the defaults in and says what is impossible.
func (cfg *Config) complete() error {
	setDefault(&cfg.Connections, max(1, runtime.GOMAXPROCS(0)/4))
	setDefault(&cfg.ConnectTimeout, 100*time.Millisecond)
	setDefault(&cfg.FirstByteTimeout, 250*time.Millisecond)
	setDefault(&cfg.Timeout, 500*time.Millisecond)
	setDefault(&cfg.Breaker.Failures, 3)
	setDefault(&cfg.Breaker.RetryEvery, 500*time.Millisecond)
	setDefault(&cfg.MaxValue, 8<<20)
	if cfg.Metrics == nil {
		cfg.Metrics = telemetry.NewRegistry()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.dial == nil {
		cfg.dial = &net.Dialer{}
	}
	return cfg.check()
}

// setDefault gives a field that is zero its default.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (cfg *Config) check() error {
	f := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return errors.New("memcached: " + what)
	}
	for _, err := range [...]error{
		f(len(cfg.Servers) > 0, "there must be a server"),
		f(cfg.Connections > 0, "connections must be above zero"),
		f(cfg.ConnectTimeout > 0 && cfg.FirstByteTimeout > 0 && cfg.Timeout > 0, "timeouts must be above zero"),
		f(cfg.Breaker.Failures > 0 && cfg.Breaker.RetryEvery > 0, "the breaker's failures and pause must be above zero"),
		f(cfg.MaxValue > 0 && cfg.MaxValue <= 1<<30, "the largest value must be above zero and at most 1 GiB"),
		f(cfg.Auth == nil || cfg.Protocol == Binary || cfg.Auth.separable(func(r rune) bool { return r <= ' ' || r == 0x7f }),
			"user and password must not be empty nor hold spaces or control characters"),
		f(cfg.Auth == nil || cfg.Protocol != Binary || cfg.Auth.separable(func(r rune) bool { return r == 0 }),
			"user and password must not be empty nor hold NUL"),
	} {
		if err != nil {
			return err
		}
	}
	for i := range cfg.Servers {
		if err := cfg.Servers[i].check(); err != nil {
			return fmt.Errorf("memcached: server %q: %w", cfg.Servers[i].Address, err)
		}
	}
	return nil
}

// separable says whether a server could tell user and password apart, where ends says what
// would end them early.
func (a *Auth) separable(ends func(rune) bool) bool {
	bad := func(s string) bool { return s == "" || strings.ContainsFunc(s, ends) }
	return !bad(a.User) && !bad(a.Password)
}
