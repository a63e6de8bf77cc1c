package cluster

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Status is the state of a node, and that of the others as it sees them.
type Status struct {
	Mode     protocol.Mode
	Instance protocol.Instance
	Serving  bool
	Lease    time.Duration // that is left
	// Suspended is set if another member has suspended this node.
	Suspended bool
	// Obstacle is why the node can't join; "" for none.
	Obstacle string
	View     protocol.View
	Peers    []protocol.Peer
}

// Status returns the present state.
func (n *Node) Status() Status {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	m := n.machine
	return Status{
		Mode: m.Mode(), Instance: m.Self(), Serving: m.Mode() == protocol.In && m.Serves(now),
		Lease: time.Duration(max(0, m.LeaseEnd()-now)), Suspended: m.View().IsSuspended(m.Self()),
		Obstacle: m.Obstacle(), View: *m.View(), Peers: m.Peers(now),
	}
}

// Membership is the newest view, and this node's part in it.
type Membership struct {
	View protocol.View // its lists must not be changed
	Self protocol.Instance
	Mode protocol.Mode
	// Serving is set while the node has a lease.
	Serving bool
}

// Membership returns the present membership. It costs less than Status.
func (n *Node) Membership() Membership {
	serving := n.cache.Serves(n.cache.Now())
	n.mu.Lock()
	defer n.mu.Unlock()
	return Membership{View: *n.machine.View(), Self: n.machine.Self(), Mode: n.machine.Mode(), Serving: serving}
}

// State returns the state in one word: serving, joining, suspended, isolated or leaving. A
// suspended node without a lease is isolated.
func (s *Status) State() string {
	switch {
	case s.Mode == protocol.Leaving || s.Mode == protocol.Left:
		return "leaving"
	case s.Serving && s.Suspended:
		return "suspended"
	case s.Serving:
		return "serving"
	case s.Mode == protocol.Joining || s.Mode == protocol.Probing && s.Obstacle == "":
		return "joining"
	}
	return "isolated"
}

// Ready returns the reason why the node does not serve, or nil.
func (n *Node) Ready() error {
	if n.cache.Serves(n.cache.Now()) {
		return nil
	}
	s := n.Status()
	if s.Obstacle != "" {
		return fmt.Errorf("the node is not in its cluster: %s", s.Obstacle)
	}
	return fmt.Errorf("the node is not in its cluster: it is %s", s.State())
}

// Serving returns a channel that is closed when the node serves for the first time.
func (n *Node) Serving() <-chan struct{} { return n.served }

// Evict begins to take a member out of the cluster at an operator's request, and returns its
// instance.
func (n *Node) Evict(node string) (i protocol.Instance, err error) {
	n.do(func(now protocol.Time) { i, err = n.machine.Evict(now, node) })
	return i, err
}

// logState logs a change of the state or of the members. It is called with mu held.
func (n *Node) logState() {
	m := n.machine
	v := m.View()
	state := fmt.Sprint(m.Mode(), v.Epoch, m.Obstacle(), v.Suspended)
	if state == n.state {
		return
	}
	n.state = state
	members := make([]string, 0, len(v.Members))
	for _, o := range v.Members {
		name := o.Node
		switch {
		case o.Joining:
			name += " (joining)"
		case v.IsSuspended(o.Instance):
			name += " (suspended)"
		}
		members = append(members, name)
	}
	attrs := []any{slog.String("state", m.Mode().String()), slog.Uint64("epoch", v.Epoch), slog.Any("members", members)}
	switch why := m.Obstacle(); {
	case why != "":
		n.log.Warn("this node can't join its cluster", append(attrs, slog.String("reason", why))...)
	case m.Mode() == protocol.Out:
		n.log.Warn("this node is out of its cluster", attrs...)
	default:
		n.log.Info("the cluster changed", attrs...)
	}
}

// times measures rounds and the time without a lease.
type times struct {
	round *telemetry.Histogram

	mu      sync.Mutex
	last    time.Time
	without time.Duration
}

// tick counts the time since the last call as time without a lease, unless there is one.
func (t *times) tick(serving bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if !serving && !t.last.IsZero() {
		t.without += now.Sub(t.last)
	}
	t.last = now
}

// withoutLease returns the total time without a lease, in seconds.
func (t *times) withoutLease() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.without.Seconds()
}

// observe registers the node's metrics.
func (n *Node) observe(r *telemetry.Registry) {
	n.times.round = r.Histogram("kasoku_cluster_round_seconds", "Time from the begin of a write until all members have fenced its tags.")
	count := func(name, help string, value func(s *protocol.Stats) uint64) {
		r.CounterFunc(name, help, func() float64 {
			n.mu.Lock()
			defer n.mu.Unlock()
			s := n.machine.Stats()
			return float64(value(&s))
		})
	}
	count("kasoku_cluster_rounds_total", "Writes whose tags all members have fenced.", func(s *protocol.Stats) uint64 { return s.Rounds })
	count("kasoku_cluster_resends_total", "Messages to members that were repeated.", func(s *protocol.Stats) uint64 { return s.Resends })
	count("kasoku_cluster_refused_total", "Writes refused because this node had no lease.", func(s *protocol.Stats) uint64 { return s.Refused })
	count("kasoku_cluster_epochs_total", "Changes of the members that this node has adopted.", func(s *protocol.Stats) uint64 { return s.Epochs })
	count("kasoku_cluster_suspensions_total", "Members that this node has suspended.", func(s *protocol.Stats) uint64 { return s.Suspended })
	count("kasoku_cluster_evictions_total", "Members that this node has taken out.", func(s *protocol.Stats) uint64 { return s.Evicted })
	count("kasoku_cluster_expulsions_total", "Times that this node was taken out.", func(s *protocol.Stats) uint64 { return s.Expelled })
	count("kasoku_cluster_quarantines_total", "Writes with an unknown outcome, or of members that were taken out.", func(s *protocol.Stats) uint64 { return s.Quarantine })
	r.CounterFunc("kasoku_cluster_without_lease_seconds_total", "Time during which this node had no lease and did not serve from its cache.", n.times.withoutLease)
	r.Gauge("kasoku_cluster_members", "Members of the cluster, joining ones included.", func() float64 {
		n.mu.Lock()
		defer n.mu.Unlock()
		return float64(len(n.machine.View().Members))
	})
	r.Gauge("kasoku_cluster_serving", "1 while this node serves from its cache.", func() float64 {
		if n.cache.Serves(n.cache.Now()) {
			return 1
		}
		return 0
	})
}
