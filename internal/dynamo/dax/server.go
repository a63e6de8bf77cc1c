package dax

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
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
	cfg     Config    // what Configure does not change
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
	departure atomic.Pointer[departure] // set once the listener is closed

	hard  context.Context  // is cancelled when Shutdown no longer waits
	conns *listener.Server // accepts and tracks the connections
}

// Listen opens the listener; nothing is accepted before Serve.
func Listen(cfg Config) (*Server, error) {
	ln, err := listener.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("dax: service %s can't listen on %s: %w", cfg.Name, cfg.Listen, err)
	}
	var s *Server
	s = newServer(cfg, listener.NewGuard(ln, cfg.Name, 1, func(nc net.Conn) {
		s.metrics.refused.Inc()
		_ = nc.Close()
	}), operations)
	return s, nil
}

func newServer(cfg Config, ln net.Listener, operations []method) *Server {
	s := &Server{cfg: cfg, session: rand.Int64N(maxNumber), methods: newMethodTable(operations, metadata)}
	if cfg.TLS != nil {
		s.cfg.TLS = cfg.TLS.Clone()
		s.cfg.TLS.NextProtos = nil // no client offers any
	}
	s.calls.New = newCall
	s.set.Store(newSettings(cfg, nil))
	s.metrics = newMetrics(s)
	s.conns = listener.NewServer(ln, listener.Config{
		Package: "dax", Service: cfg.Name,
		NewConn: func(nc net.Conn) *listener.Conn { return &newConn(s, nc).Conn },
		Limits: func() (connections, perClient int) {
			l := &s.set.Load().limits
			return l.Connections, l.ConnectionsPerClient
		},
		Refuse:   func(nc net.Conn) { _ = nc.Close() }, // at its beginning a connection has no way to report why
		Logger:   s.log,
		Accepted: s.metrics.accepted, Refused: s.metrics.refused, PerClient: s.metrics.perClient,
	})
	s.epoch, s.hard = s.conns.Epoch(), s.conns.Hard()
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
func (s *Server) Addr() net.Addr { return s.conns.Addr() }

func (s *Server) clock() time.Duration { return time.Since(s.epoch) }

func (s *Server) log() *slog.Logger {
	if l := s.set.Load().Logger; l != nil {
		return l
	}
	return slog.Default()
}

// Serve accepts connections until Shutdown, and then returns nil. After an error that may
// pass it tries again. A connection that was accepted while Shutdown began is still served.
func (s *Server) Serve() error { return s.conns.Serve() }

// Open returns the number of connections.
func (s *Server) Open() int { return s.conns.Open() }
