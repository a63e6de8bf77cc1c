package dax

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/accel"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/listener"
	"github.com/kasoku/kasoku/internal/socket"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Config describes one server.
type Config struct {
	// Name is the service's name in metrics and logs.
	Name string
	// Listen is a TCP address.
	Listen string
	// TLS makes the listener speak TLS; nil is plain. Not every client says which name
	// it wants, so that there has to be a certificate without.
	TLS *tls.Config
	// Service is asked for everything about data.
	Service *accel.Service
	// Lists numbers the lists of attributes.
	Lists Lists

	// Open lets everybody in. Else only who signs for Region with one of Keys, which
	// the service has to know as well.
	Open   bool
	Region string
	Keys   []sigv4.Key

	Limits Limits
	// Advertise is where clients are told to connect to, at most one address of each
	// family: for who can't reach the address that a connection came to. Without an
	// address (or with an unspecified one), or with port 0, that part is the
	// connection's.
	Advertise []netip.AddrPort
	// Zone is the availability zone that clients are told. Default "kasoku".
	Zone string
	// Members tells the nodes that clients may use, this one among them; nil stands for
	// this node alone. It is asked often and must not wait for anything.
	Members func() []Member

	// Log takes the record of every request; nil keeps none.
	Log telemetry.Sink
	// Metrics holds the server's series; nil keeps them to itself.
	Metrics *telemetry.Registry
	// Logger takes what an operator should know; nil is the default one.
	Logger *slog.Logger
}

// Lists numbers lists of attributes, on every node alike and for good: item.Lists for each
// access key.
type Lists interface {
	// ID returns the number of a list of names, whose order counts. A new list counts in
	// the share of the key that asks.
	ID(names [][]byte, by lists.Owner) (uint64, error)
	// Names returns the list with the given number, if there is one.
	Names(id uint64) ([]string, bool)
}

// Server is one listener and its connections.
//
// Its life: Listen, then Serve in a goroutine of the caller's, then, as a rule, Drain, and
// Shutdown once. Configure may be called at any time; a request under way keeps the
// settings that it began with.
type Server struct {
	cfg     Config // what Configure does not change
	ln      net.Listener
	epoch   time.Time // deadlines are counted from here
	session int64     // of this process, for clients to tell it from an earlier one
	metrics *metrics
	methods methodTable
	calls   sync.Pool
	room    byteBudget
	sysmon  socket.Sysmon

	// set is replaced as a whole; setMu serialises those who replace it.
	set   atomic.Pointer[settings]
	setMu sync.Mutex

	draining  atomic.Bool               // not in the list of nodes if others are
	stopping  atomic.Bool               // set by Shutdown, with mu held
	departure atomic.Pointer[departure] // set once the listener is closed
	// over is set when idle connections are to be closed. A connection looks at it after
	// it has declared itself idle, so that it either sees the flag or is seen idle.
	over atomic.Bool
	// hard is cancelled when Shutdown no longer waits.
	hard     context.Context
	hardStop context.CancelFunc

	// mu guards conns and is taken when a connection opens and closes.
	mu      sync.Mutex
	conns   map[*conn]struct{}
	clients listener.Clients
	gone    sync.WaitGroup // one for each connection, and one for Serve
}

// Listen opens the listener; nothing is accepted before Serve.
func Listen(cfg Config) (*Server, error) {
	ln, err := listener.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("dax: service %s can't listen on %s: %w", cfg.Name, cfg.Listen, err)
	}
	s := newServer(cfg, ln, operations)
	s.ln = listener.NewGuard(ln, cfg.Name, 1, func(nc net.Conn) {
		s.metrics.refused.Inc()
		_ = nc.Close()
	})
	return s, nil
}

func newServer(cfg Config, ln net.Listener, operations []method) *Server {
	s := &Server{cfg: cfg, ln: ln, epoch: time.Now(), session: rand.Int64N(maxNumber), conns: map[*conn]struct{}{},
		methods: newMethodTable(operations, metadata)}
	if cfg.TLS != nil {
		s.cfg.TLS = cfg.TLS.Clone()
		s.cfg.TLS.NextProtos = nil // no client offers any
	}
	s.calls.New = newCall
	s.hard, s.hardStop = context.WithCancel(context.Background())
	s.set.Store(newSettings(cfg, nil))
	s.metrics = newMetrics(s)
	return s
}

// maxNumber bounds the numbers that every client can read.
const maxNumber = 1 << 53

// Configure puts the keys, limits, log, addresses and members of cfg in force from the next
// request on, and the service. Connections over a lowered limit live on. The old log is the
// caller's to close; requests under way may still log to it.
func (s *Server) Configure(cfg Config) {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	s.set.Store(newSettings(cfg, s.set.Load()))
}

// Addr is the address listened on.
func (s *Server) Addr() net.Addr { return s.ln.Addr() }

func (s *Server) clock() time.Duration { return time.Since(s.epoch) }

func (s *Server) log() *slog.Logger {
	if l := s.set.Load().Logger; l != nil {
		return l
	}
	return slog.Default()
}

// Serve accepts connections until Shutdown, and then returns nil. An error that may pass
// is waited out.
func (s *Server) Serve() error {
	s.mu.Lock()
	if s.stopping.Load() {
		s.mu.Unlock()
		return nil
	}
	s.gone.Add(1)
	s.mu.Unlock()
	defer s.gone.Done()
	pause := time.Duration(0)
	for {
		nc, err := s.ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.accept(nc)
		case s.stopping.Load():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("dax: service %s: accept on %s: %w", s.cfg.Name, s.ln.Addr(), err)
		default:
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.log().Warn("dax: accept failed, trying again", "service", s.cfg.Name, "error", err, "pause", pause)
			select {
			case <-time.After(pause):
			case <-s.hard.Done():
			}
		}
	}
}

// accept takes in one connection or closes it: at its beginning there is no way to say why.
// One that was accepted while Shutdown began is still served.
func (s *Server) accept(nc net.Conn) {
	c := newConn(s, nc)
	if !s.clients.Add(c.client.Addr(), s.set.Load().limits.ConnectionsPerClient) {
		s.metrics.perClient.Inc()
		_ = nc.Close()
		return
	}
	c.booked = c.client.Addr()
	s.mu.Lock()
	refused := len(s.conns) >= s.set.Load().limits.Connections || s.over.Load()
	if !refused {
		s.conns[c] = struct{}{}
		s.gone.Add(1)
	}
	s.mu.Unlock()
	if refused {
		s.clients.Remove(c.booked)
		s.metrics.refused.Inc()
		_ = nc.Close()
		return
	}
	s.metrics.accepted.Inc()
	go c.serve()
}

// forget takes a closed connection off the books.
func (s *Server) forget(c *conn) {
	s.clients.Remove(c.booked)
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.gone.Done()
}

// Open is how many connections there are.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) snapshot() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.AppendSeq(make([]*conn, 0, len(s.conns)), func(yield func(*conn) bool) {
		for c := range s.conns {
			if !yield(c) {
				return
			}
		}
	})
}
