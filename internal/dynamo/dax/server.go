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

// Config configures one server.
type Config struct {
	// Name is the service's name in metrics and logs.
	Name string
	// Listen is a TCP address.
	Listen string
	// OpenListener opens the listener; nil is listener.Listen.
	OpenListener func(network, address string) (net.Listener, error)
	// TLS enables TLS; nil is plain. Some clients send no server name, so there must be a
	// default certificate.
	TLS *tls.Config
	// Service serves the methods for data.
	Service *accel.Service
	// Lists numbers attribute lists.
	Lists Lists
	// FindList returns the names of a list that Lists does not have, for example from another
	// node; nil finds none. It may block until ctx ends.
	FindList func(ctx context.Context, id uint64) (names []string, ok bool)

	// Open accepts every client. Otherwise a client must sign for Region with one of Keys,
	// which must also be keys of the service.
	Open   bool
	Region string
	Keys   []sigv4.Key

	Limits Limits
	// Advertise is the address announced to clients, at most one per family. It is for
	// clients that can't reach the address at which they connected. Without an address (or
	// with an unspecified one), or with port 0, that part is taken from the connection.
	Advertise []netip.AddrPort
	// Zone is the availability zone announced to clients. Default "kasoku".
	Zone string
	// Members returns the nodes that clients may use; nil means this node only. The result must
	// not be changed. It is called often and must not block.
	Members func() []Member

	// Log receives the record of every request; nil disables it.
	Log telemetry.Sink
	// Tracer decides which requests are exported as spans; nil: none.
	Tracer telemetry.Tracer
	// Metrics is the registry of the server's metrics; nil uses a private one.
	Metrics *telemetry.Registry
	// Logger receives messages for operators; nil is the default logger.
	Logger *slog.Logger
}

// Lists numbers attribute lists permanently and equally on every node, like item.Lists, for
// each access key.
type Lists interface {
	// ID returns the number of a list of names, whose order matters. A new list is charged
	// to the share of the owner.
	ID(names [][]byte, by lists.Owner) (uint64, error)
	// Names returns the list with the given number, if there is one.
	Names(id uint64) ([]string, bool)
}

// Server is one listener and its connections.
//
// Its life: Listen, then Serve in a goroutine of the caller, then usually Drain, and
// Shutdown once. Configure may be called at any time; a request in progress keeps its
// settings.
type Server struct {
	cfg      Config    // without the part that Configure changes
	epoch    time.Time // origin of all deadlines
	session  int64     // identifies this process, to distinguish it from earlier ones
	metrics  *metrics
	methods  methodTable
	calls    sync.Pool
	pageKeys *pageKeys
	room     byteBudget
	sysmon   socket.Sysmon

	// set is replaced as a whole; setMu serialises replacements.
	set   atomic.Pointer[settings]
	setMu sync.Mutex

	draining atomic.Bool                   // omit this node from the list of nodes if there are others
	closing  atomic.Pointer[closeSchedule] // set when the listener is closed

	hard  context.Context  // is cancelled when Shutdown no longer waits
	conns *listener.Server // accepts and tracks the connections
}

// Listen opens the listener. Connections are accepted from Serve on.
func Listen(cfg Config) (*Server, error) {
	open := cfg.OpenListener
	if open == nil {
		open = listener.Listen
	}
	ln, err := open("tcp", cfg.Listen)
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
	s := &Server{cfg: cfg, session: rand.Int64N(maxNumber), pageKeys: newPageKeys(), methods: newMethodTable(operations, metadata)}
	if cfg.TLS != nil {
		s.cfg.TLS = cfg.TLS.Clone()
		s.cfg.TLS.NextProtos = nil // no client uses ALPN
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
		Refuse:   func(nc net.Conn) { _ = nc.Close() }, // a new connection can't be sent an error
		Logger:   s.log,
		Accepted: s.metrics.accepted, Refused: s.metrics.refused, PerClient: s.metrics.perClient,
	})
	s.epoch, s.hard = s.conns.Epoch(), s.conns.Hard()
	return s
}

// maxNumber is the limit of numbers that every client can represent.
const maxNumber = 1 << 53

// Configure applies the service, keys, limits, log, addresses and members of cfg to requests
// that begin from now on. Connections over a lowered limit are kept. The caller must close
// the old log; requests in progress may still use it.
func (s *Server) Configure(cfg Config) {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	s.set.Store(newSettings(cfg, s.set.Load()))
}

// Addr returns the listener's address.
func (s *Server) Addr() net.Addr { return s.conns.Addr() }

func (s *Server) clock() time.Duration { return time.Since(s.epoch) }

func (s *Server) log() *slog.Logger {
	if l := s.set.Load().Logger; l != nil {
		return l
	}
	return slog.Default()
}

// Serve accepts connections until Shutdown, and then returns nil. It retries after temporary
// errors. A connection accepted while Shutdown begins is still served.
func (s *Server) Serve() error { return s.conns.Serve() }

// Open returns the number of connections.
func (s *Server) Open() int { return s.conns.Open() }
