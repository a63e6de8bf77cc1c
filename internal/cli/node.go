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

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/httpcache/disk"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Node is a running Kasoku: the services of a configuration, the cache that they
// share, and the admin server.
//
// Its life: start, Reload as often as wanted, Stop once. The cache, the metrics
// and every listener whose address stays the same live through all reloads.
type Node struct {
	log        *slog.Logger
	stdout     io.Writer
	registry   *telemetry.Registry
	cache      *cache.Cache
	disk       *disk.Tier // nil: there is none
	stores     *stores
	lists      *listsDirs
	started    time.Time
	boot       *config.Config // what the cache was made with
	accessLogs accessLogs
	failed     chan error // from listeners that stopped by themselves

	changing   sync.Mutex      // held by start, Reload and Stop: one at a time; taken before applying
	applying   sync.Mutex      // held while a configuration is brought into force; taken before mu
	retirement sync.WaitGroup  // of listeners and logs that a reload has replaced
	hard       context.Context // cancelled when Stop no longer waits for them
	hardStop   context.CancelFunc

	mu       sync.Mutex // leaf; guards what follows
	cfg      *config.Config
	admin    *admin.Server
	mounts   []*mount // the slice is replaced as a whole
	status   admin.ConfigStatus
	draining bool
}

// mount is a service in place. Reloads change its fields with Node.changing
// held; those who only report read them with Node.mu held as well.
type mount struct {
	cfg       config.Service
	memory    config.Size // the cap that its space was made with
	service   service
	space     *cache.Space
	server    *edge.Server
	certs     *certificates // nil: not encrypted
	accepting *atomic.Bool  // of server
	dax       *daxListener  // nil: there is none
}

// start runs a configuration.
func start(cfg *config.Config, file string, stdout io.Writer, log *slog.Logger) (*Node, error) {
	c, err := cache.New(cacheConfig(cfg))
	if err != nil {
		return nil, err
	}
	n := &Node{
		log: log, stdout: stdout, registry: telemetry.NewRegistry(), cache: c, stores: newStores(log), lists: newListsDirs(log),
		started: time.Now(), boot: cfg, failed: make(chan error, 1),
	}
	n.hard, n.hardStop = context.WithCancel(context.Background())
	n.status.File = file
	if n.disk, err = openDisk(cfg, log); err != nil {
		c.Close()
		return nil, err
	}
	if err := n.apply(cfg); err != nil {
		n.closeDisk()
		c.Close()
		return nil, err
	}
	n.pruneDisk()
	n.observe()
	return n, nil
}

// AdminAddr is the address of the admin server.
func (n *Node) AdminAddr() net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.admin.Addr()
}

// ServiceAddr is the address of a service's listener, nil if there is no such service.
func (n *Node) ServiceAddr(name string) net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.find(name); m != nil {
		return m.server.Addr()
	}
	return nil
}

// find is called with mu or changing held.
func (n *Node) find(name string) *mount {
	if i := slices.IndexFunc(n.mounts, func(m *mount) bool { return m.cfg.Name == name }); i >= 0 {
		return n.mounts[i]
	}
	return nil
}

// overview is the state of everything, for the admin server.
func (n *Node) overview() admin.Overview {
	o := admin.Overview{
		Version: thisBuild().Version, Started: n.started, Now: time.Now(),
		AccessLog: n.accessLogs.stats(), Config: n.configStatus(),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o.Draining = n.draining
	for _, m := range n.mounts {
		o.Services = append(o.Services, admin.Mounted{
			Service: m.service, Listen: m.server.Addr().String(), TLS: m.certs != nil,
			Connections: m.server.Open(), Accepting: m.accepting.Load(), DAX: m.dax.overview(),
		})
	}
	return o
}

func (n *Node) configStatus() admin.ConfigStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.status
	if n.cfg != nil {
		running, err := json.Marshal(n.cfg)
		if err != nil {
			panic(err) // MarshalJSON gives valid JSON
		}
		s.Running = running
	}
	return s
}

// stopTimeout is how long Stop waits for requests under way.
const stopTimeout = 30 * time.Second

// Stop drains the services, writes what is left of the access log and ends.
// When ctx ends first, the connections that are left are cut. A second call does
// nothing.
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
		wg.Go(func() { errs[2*i] = m.server.Shutdown(ctx) })
		wg.Go(func() { errs[2*i+1] = n.endDAX(ctx, m.dax) })
	}
	wg.Wait()
	n.retirement.Wait()
	for _, m := range n.mounts {
		m.service.Close()
		m.space.Close()
	}
	n.accessLogs.retire(n.accessLogs.current(), n.log)
	// Last, so that /readyz and /metrics tell of the drain until its end.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	errs = append(errs, n.admin.Shutdown(last))
	n.closeDisk()
	n.cache.Close()
	return errors.Join(errs...)
}

// serve accepts on a mount's listener until it is shut down.
func (n *Node) serve(name string, server interface{ Serve() error }, accepting *atomic.Bool) {
	accepting.Store(true)
	err := server.Serve()
	accepting.Store(false)
	if err != nil {
		n.ended(fmt.Errorf("service %s: %w", name, err))
	}
}

func (n *Node) ended(err error) {
	select {
	case n.failed <- err:
	default: // one is enough to stop for
	}
}
