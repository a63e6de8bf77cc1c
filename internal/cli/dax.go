package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/dynamo/dax"
	"github.com/kasoku/kasoku/internal/dynamo/dax/lists"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/pause"
)

// daxListener is a service's listener for DAX clients. It is complete before it is put into
// service, and does not change afterwards.
type daxListener struct {
	server    *dax.Server
	certs     *certificates // nil without TLS
	lists     *sharedHandle[*lists.Registry]
	accepting atomic.Bool
}

// newLists returns an empty set of lists of attributes.
func newLists(log *slog.Logger) *shared[*lists.Registry] {
	return newShared(func(at place, r *lists.Registry) {
		if err := r.Close(); err != nil {
			log.Warn("the lists of attributes could not be closed", "dir", string(at), "error", err)
		}
	})
}

// listsOf returns the place of the lists of attributes of s, and their directory, which is
// empty for lists in memory.
func listsOf(c *config.Config, s *config.Service) (at place, dir string, err error) {
	dir = c.DAXLists(s)
	if dir == "" {
		return memoryOf(s.Name), "", nil
	}
	at, err = directory(dir)
	return at, dir, err
}

// daxOf returns the DAX configuration of a service, nil if it has none.
func daxOf(s *config.Service) *config.DAX {
	if s.DynamoDB == nil {
		return nil
	}
	return s.DynamoDB.DAX
}

// dax opens the DAX listener of s, and closes one that is no longer configured.
func (c *change) dax(m *mount, s *config.Service) error {
	was, is := daxOf(&m.cfg), daxOf(s)
	if m.dax == nil {
		was = nil
	}
	switch {
	case is == nil && was == nil, is != nil && was != nil && is.Listen == was.Listen:
		return nil
	case is == nil:
		c.commit = append(c.commit, func() { c.node.putDAX(m, nil) })
		return nil
	}
	front, err := c.openDAX(m, s)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	c.undo = append(c.undo, func() { c.node.endDAX(c.node.hard, front) })
	c.commit = append(c.commit, func() {
		c.node.putDAX(m, front)
		front.accepting.Store(true)
		go c.node.serve(s.Name, front.server, &front.accepting)
		c.node.log.Info("serving", "service", s.Name, "type", "dax", "listen", front.server.Addr().String(), "tls", front.certs != nil)
	})
	return nil
}

func (c *change) openDAX(m *mount, s *config.Service) (*daxListener, error) {
	front := &daxListener{}
	cfg, err := c.daxConfig(m, s)
	if err != nil {
		return nil, err
	}
	cfg.OpenListener, cfg.Metrics, cfg.Logger = c.node.manager.Listen, c.stage, c.node.log
	if t := s.DAXTLS(); t != nil {
		if front.certs, err = c.newCertificates(t, s.Name, "dax"); err != nil {
			return nil, err
		}
		cfg.TLS = front.certs.serverConfig()
	}
	at, dir, err := listsOf(c.cfg, s)
	if err != nil {
		return nil, err
	}
	front.lists, err = c.node.lists.connect(at, func() (*lists.Registry, error) {
		return lists.Open(lists.Config{Dir: dir, Log: c.node.log})
	})
	if err != nil {
		return nil, err
	}
	c.node.shareDAX(&cfg, front.lists.resource)
	if front.server, err = dax.Listen(cfg); err != nil {
		front.lists.Close()
		return nil, err
	}
	return front, nil
}

// daxSettings applies new settings to a DAX listener: keys, limits, the log, certificates,
// and the current addresses of names.
func (c *change) daxSettings(m *mount, s *config.Service) error {
	if daxOf(s) == nil {
		return nil
	}
	if m.dax != nil {
		if err := c.reloadCertificate(s.Name, m.dax.certs, s.DAXTLS()); err != nil {
			return err
		}
	}
	cfg, err := c.daxConfig(m, s)
	if err != nil {
		return fmt.Errorf("service %s: %w", s.Name, err)
	}
	c.commit = append(c.commit, func() {
		c.node.shareDAX(&cfg, m.dax.lists.resource)
		cfg.Log, cfg.Logger = c.node.accessLogs.current(), c.node.log
		m.dax.server.Configure(cfg)
	})
	return nil
}

// daxConfig returns the settings that a reload may change.
func (c *change) daxConfig(m *mount, s *config.Service) (dax.Config, error) {
	d := daxOf(s)
	cfg := dax.Config{
		Name: s.Name, Listen: string(d.Listen), Zone: d.Zone, Limits: daxLimits(&d.Limits), Log: c.node.accessLogs.current(), Tracer: c.node.tracer,
		Service: m.service.(*dynamoService).Service, Open: s.DynamoDB.Auth.Mode == "none", Region: s.DynamoDB.Region,
	}
	for i := range s.DynamoDB.Auth.Keys {
		k := &s.DynamoDB.Auth.Keys[i]
		cfg.Keys = append(cfg.Keys, sigv4.Key{ID: k.ID, Secret: k.Secret()})
	}
	ctx, cancel := context.WithTimeout(c.node.hard, lookupTimeout)
	defer cancel()
	var err error
	cfg.Advertise, err = addresses(ctx, d.Advertise)
	return cfg, err
}

// shareDAX sets the lists of attributes of a listener, and the parts of its configuration for
// the other nodes of the cluster.
func (n *Node) shareDAX(cfg *dax.Config, r *lists.Registry) {
	cfg.Lists = r
	if c := n.member; c != nil {
		members := &daxMembers{
			membership: c.Membership, hosts: c.hosts, drains: &c.drains, node: c.cfg.NodeName(), own: &c.own,
			service: cfg.Name, zone: cfg.Zone,
		}
		cfg.Members = members.list
		cfg.FindList = newListSearch(c.Node, cfg.Name, r, n.log).find
	}
}

// lookupTimeout bounds the lookup of advertised names.
const lookupTimeout = 5 * time.Second

// addresses looks up the addresses that clients connect to: one of each family.
func addresses(ctx context.Context, list []config.Advertised) ([]netip.AddrPort, error) {
	var found []netip.AddrPort
	for _, a := range list {
		host, port := a.Split()
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("dax.advertise: %w", err)
		}
		had := map[bool]bool{}
		for _, ip := range ips {
			if ip = ip.Unmap().WithZone(""); !had[ip.Is4()] {
				had[ip.Is4()] = true
				found = append(found, netip.AddrPortFrom(ip, port))
			}
		}
	}
	return found, nil
}

func daxLimits(l *config.DAXLimits) dax.Limits {
	return dax.Limits{
		Connections:          l.Connections,
		ConnectionsPerClient: l.PerClient(),
		UnauthenticatedIdle:  l.UnauthenticatedIdle.Std(),
		RequestBytes:         int(l.RequestBytes),
		BufferedBytes:        int(l.BufferedBytes),
		PreambleTimeout:      l.PreambleTimeout.Std(),
		RequestTime:          l.ReceiveTimeout.Std(),
		AnswerTimeout:        l.RequestTimeout.Std(),
		WriteTimeout:         l.WriteTimeout.Std(),
		RequestsPerSecond:    l.RequestsPerSecond,
	}
}

// putDAX replaces the DAX listener of m; next may be nil. The old one is closed in the
// background.
func (n *Node) putDAX(m *mount, next *daxListener) {
	prev, name := m.dax, m.cfg.Name
	n.mu.Lock()
	m.dax = next
	n.mu.Unlock()
	if prev != nil {
		n.retire(func(ctx context.Context) error { return n.leaveDAX(ctx, name, prev) })
	}
}

// endDAX closes a DAX listener, if there is one. If clients can move to another node, it
// serves them until they have done so, or until the time for that is over.
func (n *Node) endDAX(ctx context.Context, front *daxListener) error {
	if front == nil {
		return nil
	}
	defer front.lists.Close()
	if front.server.Drain() {
		for until := time.Now().Add(dax.DrainTime); front.server.Open() > 0 && time.Now().Before(until) && ctx.Err() == nil; {
			pause.For(ctx, leavePause)
		}
	}
	return front.server.Shutdown(ctx)
}

// leavePause is the interval between checks for remaining clients.
const leavePause = 50 * time.Millisecond

// DAXAddr returns the address of a service's DAX listener, nil if there is none.
func (n *Node) DAXAddr(name string) net.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m := n.find(name); m != nil && m.dax != nil {
		return m.dax.server.Addr()
	}
	return nil
}

// overview returns the listener's state for the admin server. The caller holds n.mu.
func (f *daxListener) overview() *admin.Listener {
	if f == nil {
		return nil
	}
	return &admin.Listener{
		Address: f.server.Addr().String(), TLS: f.certs != nil, Connections: f.server.Open(), Accepting: f.accepting.Load(),
	}
}

// pending lists the keys of s, prefixed with path, whose new values need a restart.
func (f *daxListener) pending(c *config.Config, s *config.Service, path string) (list []string) {
	if f == nil {
		return nil
	}
	if (f.certs != nil) != (s.DAXTLS() != nil) {
		list = append(list, path+".dax.tls")
	}
	if at, _, err := listsOf(c, s); err == nil && at != f.lists.at {
		list = append(list, path+".dax.lists")
	}
	return list
}
