// Package edge serves HTTP. A Handler answers whole exchanges; the package does everything
// around them: listening, TLS, HTTP/2, framing, limits, timeouts, request ids, the access
// log, graceful stop.
//
//	s, err := edge.Listen(edge.Config{Name: "orders", Listen: ":8080",
//		Handler: edge.HandlerFunc(func(x *edge.Exchange) {
//			x.Reply.Status = http.StatusOK
//			x.Reply.Build(append(x.Reply.Buf, "hello"...))
//		})})
//	...
//	go s.Serve()
//
// A connection is served by one goroutine, and an idle one holds nothing except that
// goroutine: buffers belong to the Exchange, which is taken from a pool when bytes arrive
// and returned to it when none are left. HTTP/1.1 is read by package http1. A TLS connection
// that negotiated h2 is read by package http2, see h2Conn.
package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/inflight"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/socket"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Handler answers exchanges. Serve is called concurrently; x and every slice from it are
// valid until Serve returns.
type Handler interface{ Serve(x *Exchange) }

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(x *Exchange)

// Serve calls f.
func (f HandlerFunc) Serve(x *Exchange) { f(x) }

// Config describes one server.
type Config struct {
	// Name is the value of the service label in metrics.
	Name string
	// Listen is a TCP address, or unix:/path for a Unix socket.
	Listen string
	// OpenListener opens the listener; nil is listener.Listen.
	OpenListener func(network, address string) (net.Listener, error)
	// TLS makes the listener speak TLS; nil is plain. See CertReloader. NextProtos is set
	// here.
	TLS     *tls.Config
	Limits  Limits
	Handler Handler
	// Log takes the record of every exchange; nil keeps none.
	Log telemetry.Sink
	// Tracer decides which requests are exported as spans; nil: none.
	Tracer telemetry.Tracer
	// Metrics holds the server's series; nil keeps them to itself.
	Metrics *telemetry.Registry
	// Streaming lets the handler read the request's body as it arrives, see
	// Exchange.BodyReader: Exchange.Body has it only if it arrived with the head.
	// Exchange.Stream works without Streaming as well.
	Streaming bool
	// Budget bounds the memory of exchanges; nil is no bound.
	Budget *inflight.Budget
	// ProxyProtocol requires each connection to begin with a header of the PROXY protocol,
	// version 1 or 2, which contains the client's address. A connection without a valid one
	// is closed. Only proxies may reach such a listener.
	ProxyProtocol bool
	// Challenge returns the body of the answer to a GET request of an ACME server for a path,
	// if it has one. May be nil.
	Challenge func(path string) (body string, ok bool)
	// BodyTooLarge and RateLimited let the service shape refusals. They fill x.Reply, whose
	// status is set, and get a request without a body. nil answers without a body.
	BodyTooLarge, RateLimited func(x *Exchange)
}

// Server is one listener and its connections.
//
// Its life: Listen, then Serve in a goroutine of the caller's, then Shutdown once. The
// setters may be called at any time; a request in flight keeps the settings with which it
// began.
type Server struct {
	cfg   Config
	date  http1.Date
	stats *stats
	epoch time.Time // deadlines of connections are counted from here

	sysmon socket.Sysmon // woken by the clock of epoch

	// set is replaced as a whole, never changed; setMu serializes replacements
	// and is not taken on the path of a request.
	set   atomic.Pointer[settings]
	setMu sync.Mutex

	hard  context.Context  // cancelled when Shutdown no longer waits
	conns *listener.Server // accepts and tracks the connections

	unregister func() // removes the clients of this server from the budget

	refuser *listener.Refuser

	h2 h2Set
}

// settings can be changed by a reload.
type settings struct {
	limits  Limits
	head    http1.Limits
	handler Handler
	log     telemetry.Sink
	rates   listener.Rates
}

// Listen opens the listener; nothing is accepted before Serve.
func Listen(cfg Config) (*Server, error) {
	if cfg.Handler == nil {
		return nil, errors.New("edge: no handler")
	}
	network, address := "tcp", cfg.Listen
	if path, ok := strings.CutPrefix(cfg.Listen, "unix:"); ok && path != "" {
		network, address = "unix", path
	}
	open := cfg.OpenListener
	if open == nil {
		open = listener.Listen
	}
	ln, err := open(network, address)
	if err != nil {
		return nil, fmt.Errorf("edge: service %s can't listen on %s: %w", cfg.Name, cfg.Listen, err)
	}
	s := &Server{cfg: cfg, refuser: listener.NewRefuser()}
	if cfg.TLS != nil {
		s.cfg.TLS = cfg.TLS.Clone()
		s.cfg.TLS.NextProtos = alpn
	}
	s.stats = newStats(s)
	s.set.Store(newSettings(&cfg))
	s.conns = listener.NewServer(listener.NewGuard(ln, cfg.Name, 1, s.refuseNow), listener.Config{
		Package: "edge", Service: cfg.Name,
		NewConn: func(nc net.Conn) *listener.Conn { return &newConn(s, nc).Conn },
		Limits: func() (connections, perClient int) {
			l := &s.set.Load().limits
			return l.Connections, l.ConnectionsPerClient
		},
		Refuse: s.refuseConn, CountLater: cfg.ProxyProtocol, Logger: slog.Default,
		Accepted: s.stats.accepted, Refused: s.stats.refused, PerClient: s.stats.perClient,
	})
	s.epoch, s.hard = s.conns.Epoch(), s.conns.Hard()
	s.unregister = cfg.Budget.Register(&inflight.Source{Clients: s.slowClients})
	return s, nil
}

func newSettings(cfg *Config) *settings {
	set := &settings{handler: cfg.Handler, log: cfg.Log}
	if set.log == nil {
		set.log = telemetry.Discard()
	}
	set.limit(cfg.Limits, cfg)
	return set
}

// limit sets the limits. Clients' rates are kept if their limit is unchanged.
func (set *settings) limit(l Limits, cfg *Config) {
	set.limits = l.withDefaults(cfg.Streaming)
	set.head = http1.Limits{Head: set.limits.HeaderBytes, Underscores: l.Underscores, Secure: cfg.TLS != nil}
	set.rates = set.rates.With(set.limits.RequestsPerSecond)
}

// Addr returns the address listened on.
func (s *Server) Addr() net.Addr { return s.conns.Addr() }

// SetHandler lets h answer from the next request on.
func (s *Server) SetHandler(h Handler) { s.change(func(set *settings) { set.handler = h }) }

// SetLimits applies l from the next request on; connections over a lowered limit remain
// open.
func (s *Server) SetLimits(l Limits) {
	s.change(func(set *settings) { set.limit(l, &s.cfg) })
}

// SetLog passes records to l from the next request on. The caller closes the old sink;
// requests in flight may still log to it.
func (s *Server) SetLog(l telemetry.Sink) {
	if l == nil {
		l = telemetry.Discard()
	}
	s.change(func(set *settings) { set.log = l })
}

func (s *Server) change(f func(set *settings)) {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	next := *s.set.Load()
	f(&next)
	s.set.Store(&next)
}

// Serve accepts connections until Shutdown, and then returns nil. After an error that may
// pass it tries again.
func (s *Server) Serve() error { return s.conns.Serve() }

// refuseConn closes a connection over a limit, with an answer where that needs no handshake.
func (s *Server) refuseConn(nc net.Conn) {
	if s.cfg.TLS != nil {
		_ = nc.Close()
		return
	}
	s.refuser.Refuse(nc)
}

// refuseNow refuses a connection for which there is no descriptor.
func (s *Server) refuseNow(nc net.Conn) {
	s.stats.refused.Inc()
	if s.cfg.TLS != nil {
		_ = nc.Close()
		return
	}
	listener.RefuseNow(nc)
}

// Open returns the number of connections.
func (s *Server) Open() int { return s.conns.Open() }

// Shutdown drains the server: it accepts no more connections, closes idle ones, ends
// requests in flight with "Connection: close", and returns when all connections are closed.
// When ctx ends first, it cancels the contexts of exchanges, cuts their connections, and
// returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.conns.Stop()
	s.conns.CloseIdle(0)
	done := make(chan struct{})
	go func() {
		s.h2.drain()
		s.conns.Wait()
		close(done)
	}()
	defer s.unregister()
	return s.conns.Finish(ctx, done)
}
