package client

import (
	"cmp"
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

// Protocol is the protocol spoken with a server.
type Protocol uint8

const (
	// Auto probes each new connection for the meta protocol, and speaks Text if there is
	// none. Before the first connection it means unknown.
	Auto Protocol = iota
	// Text is `get`, which every server and every proxy supports.
	Text
	// Meta is `mg`: the reply has the time to live and which client is to refresh.
	Meta
	// Binary is GETK, for servers that speak nothing else, for example with SASL.
	Binary
)

func (p Protocol) String() string { return [...]string{"auto", "text", "meta", "binary"}[p] }

// Server is one server. Its number is its index in Config.Servers.
type Server struct {
	// Address is "host:port" or "unix:/path".
	Address string
	// TLS encrypts if it is not nil. ServerName defaults to the host.
	TLS *tls.Config
}

// endpoint returns the arguments for dialing.
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

// Auth has the credentials for servers with -Y (ASCII authentication), and with Binary for
// servers with -S (SASL), by PLAIN.
type Auth struct{ User, Password string }

// Breaker configures when a server counts as down.
type Breaker struct {
	// Failures is the number of consecutive failures, without a reply between them, after
	// which a server counts as down: a connection that is refused, ends before its first
	// reply or brings a garbled reply. Each counts once for all calls that wait. A timeout
	// of a call or of connecting marks the server down at once. Default 3.
	Failures int
	// RetryEvery is the longest pause, give or take a tenth, between attempts to connect to
	// a server that is down. The first attempt is immediate, and the first pause a
	// sixteenth. Default 500ms.
	RetryEvery time.Duration
}

// Config configures a client. The zero value of every field except Servers means its
// default.
type Config struct {
	// Name is the value of the metrics' label "service".
	Name    string
	Servers []Server
	// Protocol is spoken with all servers. Default Auto.
	Protocol Protocol
	// Auth, if not nil, is sent first on each connection.
	Auth *Auth
	// Connections is the maximum number of connections to a server. Default one for every
	// four CPUs, at least one.
	Connections int
	// ConnectTimeout bounds connecting, including the handshake of TLS. Default 100ms.
	ConnectTimeout time.Duration
	// FirstByteTimeout bounds the time in which a server that owes a reply sends nothing.
	// Default 250ms.
	FirstByteTimeout time.Duration
	// Timeout bounds the time from sending a command to the end of its reply. When it or
	// FirstByteTimeout has passed, all calls on the connection fail. Default 500ms.
	Timeout time.Duration
	Breaker Breaker
	// MaxValue is the size of the largest value, in bytes, that is read from or sent to a
	// server. Default 8 MiB.
	MaxValue int64
	// Metrics registers the series. Nil: there are none.
	Metrics *telemetry.Registry
	// Log has a line when a server is found to be down, and when it is back. It may be nil.
	Log *slog.Logger

	dial dialer // replaced by tests
}

// complete sets the defaults, and returns an error for settings that are impossible.
func (cfg *Config) complete() error {
	cfg.Connections = cmp.Or(cfg.Connections, max(1, runtime.GOMAXPROCS(0)/4))
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, 100*time.Millisecond)
	cfg.FirstByteTimeout = cmp.Or(cfg.FirstByteTimeout, 250*time.Millisecond)
	cfg.Timeout = cmp.Or(cfg.Timeout, 500*time.Millisecond)
	cfg.Breaker.Failures = cmp.Or(cfg.Breaker.Failures, 3)
	cfg.Breaker.RetryEvery = cmp.Or(cfg.Breaker.RetryEvery, 500*time.Millisecond)
	cfg.MaxValue = cmp.Or(cfg.MaxValue, 8<<20)
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
			"user and password must not be empty or contain spaces or control characters"),
		f(cfg.Auth == nil || cfg.Protocol != Binary || cfg.Auth.separable(func(r rune) bool { return r == 0 }),
			"user and password must not be empty or contain NUL"),
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

// separable reports whether a server can separate user and password. ends reports characters
// that would end them early.
func (a *Auth) separable(ends func(rune) bool) bool {
	bad := func(s string) bool { return s == "" || strings.ContainsFunc(s, ends) }
	return !bad(a.User) && !bad(a.Password)
}
