package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/cluster"
	"github.com/kasoku/kasoku/internal/cluster/nats"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/pause"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// clusterNode is this process as a node of its cluster.
type clusterNode struct {
	*cluster.Node
	cfg       *config.Cluster
	view      viewStore
	transport *nats.Transport
	log       *slog.Logger
	ctx       context.Context // of join
	cancel    context.CancelFunc
	joining   sync.WaitGroup                  // of join
	opened    chan struct{}                   // closed when connections may be accepted
	hosts     *hosts                          // for DAX clients
	drains    daxDrains                       // for DAX clients
	own       atomic.Pointer[protocol.Member] // this node's addresses, once they are known
}

// startCluster makes this process a node of the cluster of cfg, if it has one. Until it has
// joined, which join begins, it caches nothing and refuses writes.
func (n *Node) startCluster(cfg *config.Config) error {
	if cfg.Cluster == nil {
		return nil
	}
	if cfg.Cluster.Witness {
		w, err := n.newWitness(cfg)
		if err != nil {
			return fmt.Errorf("cluster %s: %w", cfg.Cluster.Name, err)
		}
		n.witness, n.cluster = w, w
		return nil
	}
	c, err := n.newClusterNode(cfg)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", cfg.Cluster.Name, err)
	}
	c.Handle(listKind, n.answerList)
	c.Handle(drainKind, c.answerDrain)
	n.member, n.cluster = c, c
	return nil
}

func (n *Node) newClusterNode(cfg *config.Config) (c *clusterNode, err error) {
	c = &clusterNode{cfg: cfg.Cluster, log: n.log.With(slog.String("cluster", cfg.Cluster.Name)), opened: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.hosts = newHosts(c.ctx, c.log)
	if c.transport, err = newTransport(cfg, c.log); err != nil {
		return nil, err
	}
	if c.view, err = n.newView(cfg, c.transport, c.log); err != nil {
		c.transport.Close()
		return nil, err
	}
	c.Node = cluster.New(cluster.Config{
		Delays: clusterDelays(cfg), PassIsolated: c.cfg.IsolatedWrites == "pass", Cache: n.cache, Store: c.view,
		Transport: c.transport, Log: c.log, Registry: n.registry,
		Warm: cluster.WarmLimits{Keys: c.cfg.Warm.Keys, Rate: c.cfg.Warm.Rate, Bandwidth: int64(c.cfg.Warm.Bandwidth)},
	})
	observeTransport(n.registry, c.transport)
	return c, nil
}

// newTransport connects to the other nodes of the cluster of cfg.
func newTransport(cfg *config.Config, log *slog.Logger) (*nats.Transport, error) {
	c := cfg.Cluster
	secure, err := clusterTLS(cfg)
	if err != nil {
		return nil, err
	}
	nc := nats.Config{
		Cluster: c.Name, Name: c.NodeName(), TLS: secure, Log: log,
		URL: c.NATS, Credentials: cfg.Resolve(c.NATSCredentials),
	}
	if nc.URL == "" {
		nc.Listen, nc.Advertise, nc.Join = string(c.Listen), c.Advertised(), c.Joins()
		nc.Copies.Nodes = len(c.View.Nodes)
		if c.KeepsView() {
			nc.Copies.Directory = cfg.Resolve(c.View.Directory)
		}
	}
	return nats.Start(nc)
}

// observeTransport registers the metrics of a transport.
func observeTransport(r *telemetry.Registry, t *nats.Transport) {
	count := func(name, help string, value func(s *nats.Stats) uint64, labels ...string) {
		r.CounterFunc(name, help, func() float64 {
			s := t.Stats()
			return float64(value(&s))
		}, labels...)
	}
	const messages, bytes = "Packets exchanged with other nodes; one may have messages of many writes.", "Bytes of the packets exchanged with other nodes."
	count("kasoku_cluster_packets_total", messages, func(s *nats.Stats) uint64 { return s.MessagesIn }, "direction", "in")
	count("kasoku_cluster_packets_total", messages, func(s *nats.Stats) uint64 { return s.MessagesOut }, "direction", "out")
	count("kasoku_cluster_bytes_total", bytes, func(s *nats.Stats) uint64 { return s.BytesIn }, "direction", "in")
	count("kasoku_cluster_bytes_total", bytes, func(s *nats.Stats) uint64 { return s.BytesOut }, "direction", "out")
	count("kasoku_cluster_dropped_total", "Packets of other nodes that were dropped because this node was too slow.", func(s *nats.Stats) uint64 { return s.Dropped })
	r.Gauge("kasoku_cluster_routes", "Other nodes to which this node has a connection.", func() float64 { return float64(t.Stats().Peers) })
}

// clusterDelays returns the delays of the protocol that follow from the configuration.
func clusterDelays(cfg *config.Config) protocol.Config {
	settle, quarantine := settleTimes(cfg)
	var longest time.Duration
	for i := range cfg.Services {
		longest = max(longest, cfg.Services[i].Limits.RequestTimeout.Std(), cfg.Services[i].OriginTimeout.Std())
	}
	return protocol.Config{
		Lease: protocol.Time(cfg.Cluster.Lease.Std()), Settle: protocol.Time(settle), Quarantine: protocol.Time(quarantine),
		Reach: protocol.Time(longest + quarantine),
	}
}

// join joins the cluster in the background. It is called once the listeners are open. bound
// returns the address of a service's listener for DAX clients.
func (c *clusterNode) join(cfg *config.Config, bound func(service string) net.Addr) {
	c.joining.Go(func() {
		var self protocol.Member
		ready := until(c.ctx, c.log, "the addresses of this node can't be found", func() (err error) {
			if self, err = clusterMember(c.ctx, cfg, bound); err == nil {
				self.Address, err = c.address(self.Address)
			}
			return err
		}) && until(c.ctx, c.log, "the place of the cluster's members is not ready; nothing is cached and writes are refused", func() error {
			return c.view.Prepare(c.ctx)
		})
		if ready {
			c.own.Store(&self)
			c.Start(self, c.view.Empty())
		}
	})
	c.joining.Go(func() {
		limit := time.NewTimer(maxHold)
		defer limit.Stop()
		select {
		case <-c.Serving():
		case <-limit.C:
		case <-c.ctx.Done():
		}
		close(c.opened)
	})
}

// maxHold is how long the listeners of a node that starts accept no connections because the
// node is not a member yet. Clients wait meanwhile: a write would be refused. Later reads are
// passed to the origin.
const maxHold = 2 * time.Second

// address returns the address of this node for the others: the deployment, or the configured
// one with the port that was chosen at the start.
func (c *clusterNode) address(configured string) (string, error) {
	if c.cfg.NATS != "" {
		return c.cfg.NATS, nil
	}
	host, port, err := net.SplitHostPort(configured)
	if err != nil || port != "0" {
		return configured, err
	}
	_, port, err = net.SplitHostPort(c.transport.Addr().String())
	return net.JoinHostPort(host, port), err
}

// leaveTimeout limits how long a node that stops waits until it is out of its cluster.
const leaveTimeout = 5 * time.Second

// leave takes this node out of its cluster. No requests may be in flight.
func (c *clusterNode) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	c.cancel()
	c.joining.Wait()
	err := c.Leave(ctx)
	c.close()
	return err
}

// close ends the node without leaving.
func (c *clusterNode) close() {
	c.cancel()
	c.joining.Wait()
	c.Node.Close()
	c.transport.Close()
	c.view.Close()
}

// Status implements admin.Cluster.
func (c *clusterNode) Status() admin.ClusterStatus {
	s := c.Node.Status()
	out := admin.ClusterStatus{
		Name: c.cfg.Name, Node: c.cfg.NodeName(), Instance: instanceText(s.Instance), Epoch: s.View.Epoch, Rev: s.View.Rev,
		State: admin.NodeState(s.State()), LeaseMS: s.Lease.Milliseconds(), Obstacle: s.Obstacle,
	}
	if w, ok := c.Warming(); ok {
		out.Warming = &admin.Warming{From: w.From, Stored: w.Stored, Bytes: w.Bytes}
	}
	peers := make(map[protocol.Instance]*protocol.Peer, len(s.Peers))
	for i := range s.Peers {
		peers[s.Peers[i].Instance] = &s.Peers[i]
	}
	for i := range s.View.Members {
		m := &s.View.Members[i]
		o := adminMember(&s.View, m)
		o.Self = m.Instance == s.Instance
		if o.Self {
			o.State = out.State
		}
		if p := peers[m.Instance]; p != nil {
			o.AckMS = float64(p.Ack) / float64(protocol.Millisecond)
			o.SilentMS = int64(p.Silence / protocol.Millisecond)
		}
		out.Members = append(out.Members, o)
	}
	out.Away = away(&s.View)
	return out
}

// adminMember returns a member with its state in the view.
func adminMember(v *protocol.View, m *protocol.Member) admin.ClusterMember {
	o := admin.ClusterMember{
		Node: m.Node, Address: m.Address, Zone: m.Zone, State: admin.NodeServing, Instance: instanceText(m.Instance), Joined: time.UnixMilli(m.Joined),
	}
	switch {
	case m.Joining:
		o.State = admin.NodeJoining
	case v.IsSuspended(m.Instance):
		o.State = admin.NodeSuspended
	}
	return o
}

// away returns the nodes that left the cluster lately, or were taken out.
func away(v *protocol.View) (list []admin.AwayNode) {
	for _, a := range v.Away {
		list = append(list, admin.AwayNode{Node: a.Node, Since: time.UnixMilli(a.Since), Reason: a.Reason})
	}
	return list
}

func instanceText(i protocol.Instance) string { return strconv.FormatUint(uint64(i), 16) }

// Evict implements admin.Cluster.
func (c *clusterNode) Evict(ctx context.Context, node string) error {
	instance, err := c.Node.Evict(node)
	if err != nil {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	for {
		if s := c.Node.Status(); s.View.Find(instance) == nil {
			return nil
		}
		if !pause.For(ctx, 20*time.Millisecond) {
			return errors.New("the node is still a member")
		}
	}
}

// Warm implements admin.Cluster.
func (c *clusterNode) Warm(ctx context.Context, r *admin.WarmRequest, progress func(admin.WarmProgress)) error {
	limits := cluster.WarmLimits{Keys: r.Keys, Rate: r.Rate, Bandwidth: int64(c.cfg.Warm.Bandwidth)}
	_, err := c.Node.Warm(ctx, r.Peer, r.Service, limits, func(n cluster.WarmCounts, part float64) {
		progress(admin.WarmProgress{Filled: n.Stored, Present: n.Present, Absent: n.Absent, Uncacheable: n.Skipped, Bytes: n.Bytes, Part: part})
	})
	if errors.Is(err, cluster.ErrNoMember) || errors.Is(err, cluster.ErrNoWarmer) {
		return fmt.Errorf("%w: %w", admin.ErrInput, err)
	}
	return err
}

// Unreached implements admin.Cluster.
func (c *clusterNode) Unreached(err error) bool {
	for _, cause := range []error{cache.ErrIsolated, protocol.ErrLost, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
