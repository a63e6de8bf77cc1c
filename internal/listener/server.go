package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes a Server.
type Config struct {
	// Package names the package that speaks the protocol, and Service the service: log
	// records and errors contain both.
	Package, Service string
	// NewConn returns a new connection on which Init was called.
	NewConn func(nc net.Conn) *Conn
	// Limits returns how many connections there may be, and how many of one client; for the
	// latter 0 is no bound.
	Limits func() (connections, perClient int)
	// Refuse closes a connection over a limit, with an answer if the protocol has one.
	Refuse func(nc net.Conn)
	// CountLater leaves it to the protocol to call Conn.CountClient: the client's address is
	// unknown when the connection is accepted.
	CountLater bool
	// Logger returns where to log, or nil for the default logger.
	Logger func() *slog.Logger
	// Accepted and Refused count connections. PerClient counts the ones over the limit of one
	// client.
	Accepted, Refused, PerClient *telemetry.Counter
}

// Server accepts connections from a listener and tracks them until they are closed.
//
// Its life: Serve in a goroutine of the caller's, then Stop, CloseIdle and Finish, once each.
type Server struct {
	cfg   Config
	ln    net.Listener
	epoch time.Time // deadlines of connections are counted from here

	// closing is set before idle connections are closed. A connection looks at it after it
	// has declared itself idle, so that it either sees the flag or is seen as idle.
	closing atomic.Bool
	// stopping is set, and stopped closed, by Stop.
	stopping atomic.Bool
	stopped  chan struct{}
	// hard is cancelled when Finish no longer waits.
	hard     context.Context
	hardStop context.CancelFunc

	// mu guards conns and is taken when a connection opens and closes.
	mu      sync.Mutex
	conns   map[*Conn]struct{}
	clients Clients
	open    sync.WaitGroup // one for each connection, and one for Serve
}

// NewServer returns a server for ln. Nothing is accepted before Serve.
func NewServer(ln net.Listener, cfg Config) *Server {
	s := &Server{cfg: cfg, ln: ln, epoch: time.Now(), stopped: make(chan struct{}), conns: map[*Conn]struct{}{}}
	s.hard, s.hardStop = context.WithCancel(context.Background())
	return s
}

// Addr returns the address listened on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

// Epoch returns the time from which deadlines of connections are counted.
func (s *Server) Epoch() time.Time { return s.epoch }

// Hard returns the context that is cancelled when Finish no longer waits for connections.
func (s *Server) Hard() context.Context { return s.hard }

// Stopping reports whether Stop was called.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// Stopped returns a channel that Stop closes.
func (s *Server) Stopped() <-chan struct{} { return s.stopped }

// Closing reports whether CloseIdle was called: a connection that becomes idle is to be
// closed.
func (s *Server) Closing() bool { return s.closing.Load() }

// Serve accepts connections until Stop, and then returns nil. After an error that may pass
// it tries again.
func (s *Server) Serve() error {
	s.mu.Lock()
	if s.stopping.Load() {
		s.mu.Unlock()
		return nil
	}
	s.open.Add(1)
	s.mu.Unlock()
	defer s.open.Done()
	pause := time.Duration(0)
	for {
		nc, err := s.ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.Accept(nc)
		case s.stopping.Load():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("%s: service %s: accept on %s: %w", s.cfg.Package, s.cfg.Service, s.ln.Addr(), err)
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.logger().Warn(s.cfg.Package+": accept failed, trying again", "service", s.cfg.Service, "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.stopped:
			}
		}
	}
}

func (s *Server) logger() *slog.Logger {
	if l := s.cfg.Logger(); l != nil {
		return l
	}
	return slog.Default()
}

// Accept serves nc in a new goroutine, or refuses it if a limit is reached.
func (s *Server) Accept(nc net.Conn) {
	c := s.cfg.NewConn(nc)
	if !s.cfg.CountLater && !c.CountClient() {
		s.cfg.Refuse(nc)
		return
	}
	if !s.Track(c) {
		c.uncountClient()
		s.cfg.Refused.Inc()
		s.cfg.Refuse(nc)
		return
	}
	s.cfg.Accepted.Inc()
	go c.protocol.Serve()
}

// Track adds c to the connections of the server, and reports false if there are too many or
// the server closes its connections.
func (s *Server) Track(c *Conn) bool {
	limit, _ := s.cfg.Limits()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= limit || s.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	s.open.Add(1)
	return true
}

// Open returns the number of connections.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Conns returns the connections.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.conns))
}

// Stop closes the listener. Connections remain open.
func (s *Server) Stop() {
	s.mu.Lock()
	if !s.stopping.Swap(true) {
		close(s.stopped)
	}
	s.mu.Unlock()
	_ = s.ln.Close()
}

// CloseIdle closes the idle connections, and from now on each one that becomes idle. A
// connection still reads a request that arrives within grace.
func (s *Server) CloseIdle(grace time.Duration) {
	s.closing.Store(true)
	for _, c := range s.Conns() {
		c.Kick(grace)
	}
}

// Wait returns when Serve has returned and all connections are closed.
func (s *Server) Wait() { s.open.Wait() }

// cutGrace is how long Finish waits for requests whose connections it has cut.
const cutGrace = 500 * time.Millisecond

// Finish waits until done is closed. When ctx ends first, it cancels the context Hard, cuts
// all connections, and returns the error of ctx.
func (s *Server) Finish(ctx context.Context, done <-chan struct{}) error {
	defer s.hardStop()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	left := s.Conns() // some of them end as soon as their contexts do
	s.hardStop()
	for _, c := range left {
		c.cut()
	}
	// Handlers that observe their context end at once; the log should still be open for
	// their records.
	select {
	case <-done:
	case <-time.After(cutGrace):
	}
	return fmt.Errorf("%s: service %s stopped with %d connections in use: %w", s.cfg.Package, s.cfg.Service, len(left), ctx.Err())
}
