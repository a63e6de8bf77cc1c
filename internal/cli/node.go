package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/acme"
	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/pause"
	"github.com/kasoku/kasoku/internal/systemd"
	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/telemetry/bytable"
	"github.com/kasoku/kasoku/internal/telemetry/history"
	"github.com/kasoku/kasoku/internal/telemetry/hotkeys"
	"github.com/kasoku/kasoku/internal/telemetry/ledger"
	"github.com/kasoku/kasoku/internal/telemetry/live"
	"github.com/kasoku/kasoku/internal/telemetry/tracing"
)

// Node is a running Kasoku: the services of a configuration, the cache that they share, and
// the admin server.
//
// It is started with start, reconfigured with Reload any number of times, and stopped once
// with Stop. The cache, the metrics and every listener whose address does not change survive
// reloads.
type Node struct {
	log         *slog.Logger
	manager     *systemd.Manager // nil unless systemd has started this process
	stdout      io.Writer
	registry    *telemetry.Registry
	cache       *cache.Cache
	disk        *disk.Tier    // nil if there is none
	member      *clusterNode  // nil if this process is no member of a cluster
	witness     *witness      // nil if it is no witness of one
	cluster     admin.Cluster // member, witness or nil
	stores      *stores
	lists       *shared[*lists.Registry]
	started     time.Time
	boot        *config.Config // the configuration with which the cache was made
	accessLogs  accessLogs
	live        live.Log
	tables      *bytable.Counts
	ledger      *ledger.Ledger // nil if there is none
	history     *history.History
	stopHistory func()
	tracer      *tracing.Tracer
	hotKeys     *hotkeys.Keys
	failed      chan error       // from listeners that failed
	sessions    edge.SessionKeys // of all listeners
	authorities authorities

	changing   sync.Mutex      // held by start, Reload and Stop; acquired before applying
	applying   sync.Mutex      // held while a configuration is applied; acquired before mu
	retirement sync.WaitGroup  // of replaced listeners and logs
	hard       context.Context // cancelled when Stop no longer waits for them
	hardStop   context.CancelFunc

	mu       sync.Mutex // the last lock acquired; guards the following fields
	cfg      *config.Config
	admin    *admin.Server
	mounts   []*mount // the slice is replaced as a whole
	status   admin.ConfigStatus
	draining bool
}

// mount is a running service. Reloads change its fields with Node.changing held and, if
// reports read the field, Node.mu as well.
type mount struct {
	cfg       config.Service
	memory    config.Size // the memory limit when its space was made
	service   service
	space     *cache.Space
	server    *edge.Server
	certs     *certificates // nil without TLS
	accepting *atomic.Bool  // for server
	dax       *daxListener  // nil if there is none
}

// start starts a node with a configuration.
func start(cfg *config.Config, file string, stdout io.Writer, log *slog.Logger) (*Node, error) {
	return startManaged(cfg, file, stdout, log, nil)
}

// startManaged is start for a process that may have a service manager.
func startManaged(cfg *config.Config, file string, stdout io.Writer, log *slog.Logger, manager *systemd.Manager) (*Node, error) {
	c, err := cache.New(cacheConfig(cfg))
	if err != nil {
		return nil, err
	}
	n := &Node{
		log: log, manager: manager, stdout: stdout, registry: telemetry.NewRegistry(), cache: c, stores: newStores(log), lists: newLists(log),
		started: time.Now(), boot: cfg, failed: make(chan error, 1),
	}
	n.tables, n.hotKeys, n.tracer = bytable.New(n.registry), hotkeys.New(), tracing.New(n.registry)
	n.history = history.New(n.totals)
	n.hard, n.hardStop = context.WithCancel(context.Background())
	n.status.File = file
	if n.disk, err = openDisk(cfg, log); err != nil {
		c.Close()
		return nil, err
	}
	if n.ledger, err = openLedger(cfg, log); err != nil {
		n.closeDisk()
		c.Close()
		return nil, err
	}
	if err := n.startCluster(cfg); err != nil {
		n.closeLedger()
		n.closeDisk()
		c.Close()
		return nil, err
	}
	if err := n.apply(cfg); err != nil {
		if n.member != nil {
			n.member.close()
		}
		if n.witness != nil {
			n.witness.close()
		}
		n.closeLedger()
		n.closeDisk()
		c.Close()
		return nil, err
	}
	if n.member != nil {
		n.member.join(cfg, n.DAXAddr)
	}
	n.pruneDisk()
	n.observe()
	n.stopHistory = n.keepHistory()
	return n, nil
}

// AdminAddr returns the address of the admin server.
func (n *Node) AdminAddr() net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.admin.Addr()
}

// ServiceAddr returns the address of a service's listener, nil if there is no such service.
func (n *Node) ServiceAddr(name string) net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.find(name); m != nil {
		return m.server.Addr()
	}
	return nil
}

// find returns the mount called name, or nil. The caller holds mu or changing.
func (n *Node) find(name string) *mount {
	if i := slices.IndexFunc(n.mounts, func(m *mount) bool { return m.cfg.Name == name }); i >= 0 {
		return n.mounts[i]
	}
	return nil
}

// overview returns the state of the node for the admin server.
func (n *Node) overview() admin.Overview {
	o := admin.Overview{
		Version: thisBuild().Version, Started: n.started, Now: time.Now(),
		AccessLog: n.accessLogs.stats(), Config: n.configStatus(),
	}
	stores := n.embeddedStores()
	n.mu.Lock()
	defer n.mu.Unlock()
	o.Draining, o.Cluster = n.draining, n.cluster
	for _, m := range n.mounts {
		name := m.service.Name()
		o.Services = append(o.Services, admin.Mounted{
			Service: m.service, Listen: m.server.Addr().String(), TLS: m.certs != nil,
			Connections: m.server.Open(), Accepting: m.accepting.Load(), DAX: m.dax.overview(),
			Warmer:    m.service.warmer(&m.cfg, m.server.Addr(), m.certs != nil),
			Store:     stores[m.service],
			Tables:    n.tableFigures(name),
			Throttled: n.throttledTables(name),
			Times:     func() (hits, origin telemetry.Snapshot) { return n.tables.Times(name) },
			Traffic:   n.traffic(&m.cfg),
		})
	}
	return o
}

// tableFigures returns a function that returns the figures of a service's tables.
func (n *Node) tableFigures(service string) func() []admin.Table {
	return func() []admin.Table {
		var all []admin.Table
		for _, f := range n.tables.Figures(service) {
			all = append(all, admin.NewTable(f.Table, f.Decisions, f.Sent, f.Hits, f.Origin))
		}
		return all
	}
}

func (n *Node) configStatus() admin.ConfigStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.status
	if n.cfg != nil {
		running, err := json.Marshal(n.cfg)
		if err != nil {
			panic(err) // MarshalJSON returns valid JSON
		}
		s.Running = running
	}
	return s
}

// stopTimeout is the maximum time that Stop waits for requests in flight.
const stopTimeout = 30 * time.Second

// balancerTime is how long a node of a cluster accepts requests while /readyz is 503.
const balancerTime = 2 * time.Second

// awaitBalancers gives balancers time to use other nodes, if there are any: a connection that
// is opened while the listener is closed is reset, and so may be a request on an idle
// connection.
func (n *Node) awaitBalancers(ctx context.Context) {
	if n.member != nil && len(n.member.Node.Status().View.Members) > 1 {
		pause.For(ctx, balancerTime)
	}
}

// Stop drains the services, flushes the access log and ends the node. If ctx ends first, the
// remaining connections are cut. A second call has no effect.
func (n *Node) Stop(ctx context.Context) error {
	n.changing.Lock()
	defer n.changing.Unlock()
	n.mu.Lock()
	again := n.draining
	n.draining = true
	n.mu.Unlock()
	if again {
		return nil
	}
	defer context.AfterFunc(ctx, n.hardStop)()
	errs := make([]error, 2*len(n.mounts))
	var wg sync.WaitGroup
	for i, m := range n.mounts {
		wg.Go(func() {
			n.awaitBalancers(ctx)
			errs[2*i] = m.server.Shutdown(ctx)
		})
		wg.Go(func() { errs[2*i+1] = n.leaveDAX(ctx, m.cfg.Name, m.dax) })
	}
	wg.Wait()
	n.stopHistory()
	n.retirement.Wait()
	n.authorities.keep(func(*acme.Manager) bool { return false })
	if n.member != nil {
		errs = append(errs, n.member.leave(ctx))
	}
	if n.witness != nil {
		n.witness.close()
	}
	for _, m := range n.mounts {
		m.service.Close()
		m.space.Close()
	}
	n.accessLogs.retire(n.accessLogs.current(), n.log)
	closeExporter(n.tracer.Use(nil))
	// Last, so that /readyz and /metrics are available until the drain ends.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	errs = append(errs, n.admin.Shutdown(last))
	n.closeLedger()
	n.closeDisk()
	n.cache.Close()
	return errors.Join(errs...)
}

// serve accepts connections on a mount's listener until it is shut down. In a cluster it
// begins when the node has joined, or can't do so soon.
func (n *Node) serve(name string, server interface{ Serve() error }, accepting *atomic.Bool) {
	accepting.Store(true)
	if n.member != nil {
		<-n.member.opened
	}
	err := server.Serve()
	accepting.Store(false)
	if err != nil {
		n.ended(fmt.Errorf("service %s: %w", name, err))
	}
}

func (n *Node) ended(err error) {
	select {
	case n.failed <- err:
	default: // one failure is enough to stop the node
	}
}
