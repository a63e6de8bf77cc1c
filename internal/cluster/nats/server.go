package nats

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Times of connections. A deployment that stopped is detected after maxPings intervals, and a
// node after one to two of routePing.
const (
	pingInterval  = time.Second
	maxPings      = 2
	routePing     = 1500 * time.Millisecond
	dialTimeout   = 2 * time.Second
	reconnectWait = 250 * time.Millisecond
	// firstReconnect is half of the time before the first attempt to connect to a deployment
	// again.
	firstReconnect = 10 * time.Millisecond
)

// Limits of the server in the process.
const (
	maxPayload = 8 << 20

	// routeStall is the longest time for which a node that stopped to read can delay
	// messages to others: a write to it has to make progress within that time. It is
	// shorter than the time after which a member is suspended.
	routeStall = 200 * time.Millisecond

	// implicitRetries is the number of attempts, one per second, to reach a node that only
	// other nodes have announced.
	implicitRetries = 30

	startTimeout = 10 * time.Second
)

// Limits of JetStream in the server: it is for a list of members, and not for data.
const (
	maxStored   = 64 << 20
	maxInMemory = 1 << 20 // of streams without a file, of which there are none
)

// embedded is the server in the process.
type embedded struct {
	*server.Server
	cfg     *Config
	name    string
	address *net.TCPAddr // of the listener for routes
	tls     *tls.Config

	mu      sync.Mutex
	join    map[string][]string // by element of Config.Join: its resolved addresses
	peers   map[string]*peer    // the members, by name
	tried   []string            // the addresses that the server has now
	repairs map[string]int      // attempts to restore the route to an address
	remotes int                 // the number of routes at the last check
	checkAt time.Time           // when they are checked next
	broken  bool                // one to a member has ended
}

// startServer returns a server that listens for routes.
func startServer(cfg *Config) (*embedded, error) {
	e := &embedded{cfg: cfg, name: uniqueName(cfg.Name), tls: mutual(cfg.TLS), join: map[string][]string{}, repairs: map[string]int{}}
	first := e.addresses()
	if cfg.Copies.Directory != "" {
		// The other servers recognize the one that keeps a copy by its name.
		e.name = cfg.Name
		if err := os.MkdirAll(cfg.Copies.Directory, 0o700); err != nil {
			return nil, fmt.Errorf("directory of NATS: %w", err)
		}
		first = e.founding(first)
	}
	e.tried = first
	options, err := e.options(first)
	if err != nil {
		return nil, err
	}
	e.Server, err = server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("NATS server: %w", err)
	}
	log := newLogger(cfg.Log)
	e.SetLogger(log, false, false)
	e.Start()
	if err := e.waitForListener(log.fatal); err != nil {
		e.stop()
		return nil, fmt.Errorf("NATS server: %w", err)
	}
	e.mu.Lock()
	e.reload(false) // with all addresses, after founding
	e.mu.Unlock()
	return e, nil
}

// founding returns as many addresses as nodes keep copies. A server that starts with an empty
// directory takes the number of its routes for the number of servers that have to vote for
// the first leader. With fewer, nodes that can't reach each other at the first start of a
// cluster could found two. It adds this server's own address, because a route to itself is
// closed at once. With two routes to one address both servers may close another one of them.
func (e *embedded) founding(addresses []string) []string {
	own := e.cfg.Listen
	if host, port, err := net.SplitHostPort(own); err == nil && host == "" {
		own = net.JoinHostPort("127.0.0.1", port)
	}
	out := slices.Clone(addresses[:min(len(addresses), e.cfg.Copies.Nodes)])
	for len(out) < e.cfg.Copies.Nodes {
		out = append(out, own)
	}
	slices.Sort(out) // as in the result of addresses
	return out
}

// waitForListener returns when the server accepts routes, or has failed to.
func (e *embedded) waitForListener(fatal <-chan error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(startTimeout)
	for {
		if e.address = e.ClusterAddr(); e.address != nil {
			return nil
		}
		select {
		case err := <-fatal:
			return err
		case <-timeout:
			return errors.New("the listener for other nodes did not open in time")
		case <-tick.C:
		}
	}
}

// stop ends the server and waits for its goroutines.
func (e *embedded) stop() {
	e.Shutdown()
	e.WaitForShutdown()
}

// options returns the server's options with routes to the addresses. Two calls with equal
// addresses return equal options, as a reload requires.
func (e *embedded) options(addresses []string) (*server.Options, error) {
	host, text, err := net.SplitHostPort(e.cfg.Listen)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("port of %s: %w", e.cfg.Listen, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	if host == "" {
		host = server.DEFAULT_HOST
	}
	copies := e.cfg.Copies
	return &server.Options{
		ServerName: e.name,
		Host:       "127.0.0.1", Port: server.RANDOM_PORT,
		CustomClientAuthentication: processOnly{},
		NoSigs:                     true,
		NoSystemAccount:            copies.Nodes == 0,
		JetStream:                  copies.Directory != "",
		StoreDir:                   copies.Directory,
		JetStreamMaxStore:          maxStored,
		JetStreamMaxMemory:         maxInMemory,
		SyncAlways:                 true,
		DisableJetStreamBanner:     true,
		NoFastProducerStall:        true,
		MaxPayload:                 maxPayload,
		ReconnectErrorReports:      60,
		Routes:                     e.urls(addresses),
		Cluster: server.ClusterOpts{
			Name: e.cfg.Cluster, Host: host, Port: port,
			Advertise:      e.cfg.Advertise,
			NoAdvertise:    true, // of the listener for clients
			TLSConfig:      e.tls,
			PoolSize:       -1,
			Compression:    server.CompressionOpts{Mode: server.CompressionOff},
			ConnectRetries: implicitRetries,
			PingInterval:   routePing,
			MaxPingsOut:    1,
			WriteDeadline:  routeStall,
		},
	}, nil
}

// mutual returns a copy of c for both sides of a route, each of which requires a certificate
// of the other.
func mutual(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if c.ClientCAs == nil {
		c.ClientCAs = c.RootCAs
	}
	if c.RootCAs == nil {
		c.RootCAs = c.ClientCAs
	}
	c.MinVersion = max(c.MinVersion, tls.VersionTLS13)
	return c
}

// processOnly accepts clients that connect from within the process.
type processOnly struct{}

// Check reports whether c is connected by a pipe.
func (processOnly) Check(c server.ClientAuthentication) bool {
	address := c.RemoteAddress()
	return address != nil && address.Network() == "pipe"
}

// uniqueName returns a name for the server of a node, which must differ from all others.
func uniqueName(node string) string {
	return node + "-" + strconv.FormatUint(rand.Uint64(), 16)
}
