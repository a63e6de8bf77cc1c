package couch

import (
	"log/slog"
	"net/url"
	"slices"
	"sync"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/couch/feed"
	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/origin/balance"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// fleet manages a service's nodes apart from clients' requests: it follows the databases in
// use and keeps replications running.
type fleet struct {
	nodes  *nodes
	table  *follow.Table // nil without Config.Follow
	keeper *keeper       // nil without replications
	feeds  *feed.Feeds
	urls   []string
	cfg    Config

	recentWrites recentWrites

	mu          sync.Mutex
	downReasons []map[string]bool // by node: the reasons why the balancer does not use it
	transitions int               // the number of calls of memberMoved
}

// newFleet returns a running fleet. All nodes count as up until memberMoved reports
// otherwise.
func newFleet(cfg *Config, c *cache.Cache, registry *telemetry.Registry, log *slog.Logger) (*fleet, error) {
	n, err := newNodes(cfg)
	if err != nil {
		return nil, err
	}
	f := &fleet{nodes: n, urls: cfg.Nodes, cfg: *cfg, downReasons: make([]map[string]bool, len(cfg.Nodes))}
	f.feeds = feed.New(feed.Config{Ask: n.ask, OwnCredentials: cfg.User != ""})
	for i := range f.downReasons {
		f.downReasons[i] = map[string]bool{}
	}
	if len(replicationJobs(cfg)) > 0 {
		f.keeper = newKeeper(cfg, n, registry, log)
	}
	if cfg.Follow {
		f.table = follow.New(follow.Config{
			Service: cfg.Name, Nodes: cfg.Nodes, Get: n.get, Do: n.do, Cache: c, MaxUnfollowed: cfg.MaxUnfollowed, MaxLag: cfg.MaxLag,
			MaxDatabases: cfg.MaxDatabases, Pinned: cfg.Replicate.Databases, Returned: f.nodeReturned, Lagging: f.nodeLagging, Registry: registry, Log: log,
		})
	}
	return f, nil
}

// matches reports whether the fleet can be used with another configuration.
func (f *fleet) matches(cfg *Config) bool {
	old := &f.cfg
	return slices.Equal(cfg.Nodes, old.Nodes) && cfg.User == old.User && cfg.Password == old.Password && cfg.Follow == old.Follow &&
		cfg.MaxUnfollowed == old.MaxUnfollowed && cfg.MaxLag == old.MaxLag && cfg.MaxDatabases == old.MaxDatabases &&
		slices.Equal(cfg.Replicate.Databases, old.Replicate.Databases) && cfg.Replicate.Both == old.Replicate.Both &&
		cfg.HTTP.Group.Transport == old.HTTP.Group.Transport
}

// close stops the fleet. After that no copy that depends on it can be found.
func (f *fleet) close() {
	f.feeds.Close()
	if f.table != nil {
		f.table.Close()
	}
	if f.keeper != nil {
		f.keeper.close()
	}
	f.nodes.close()
}

// choice returns a choice of the first available node of an order. It uses the nodes' names,
// since the balancer may have another configuration by then.
func (f *fleet) choice(o nodeOrder) *balance.Choice {
	return &balance.Choice{Names: f.urls, Prefer: o}
}

// indexes returns the indexes in f of the nodes of other; -1 for nodes that f does not have.
func (f *fleet) indexes(other *fleet) (nodes []int) {
	for _, url := range other.urls {
		nodes = append(nodes, slices.Index(f.urls, url))
	}
	return nodes
}

// unregister removes the metrics of f that next does not have.
func (f *fleet) unregister(r *telemetry.Registry, next *fleet) {
	for _, url := range f.urls {
		if f.table != nil && (next.table == nil || !slices.Contains(next.urls, url)) {
			r.Unregister("service", f.cfg.Name, "node", url)
		}
	}
	kept := replicationJobs(&next.cfg)
	for _, j := range replicationJobs(&f.cfg) {
		same := slices.ContainsFunc(kept, func(k follow.ReplicationJob) bool {
			return k.DB == j.DB && next.urls[k.From] == f.urls[j.From] && next.urls[k.To] == f.urls[j.To]
		})
		if !same {
			r.Unregister("service", f.cfg.Name, "database", j.DB, "from", f.urls[j.From], "to", f.urls[j.To])
		}
	}
}

// memberMoved is called by the balancer when the state of a node changes: see
// balance.Config.Moved.
func (f *fleet) memberMoved(member, from, to, _ string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.transitions++
	f.transition(member, from, to)
}

// transition records a new state of a node. A node may be down for several reasons at once.
// f.mu is held.
func (f *fleet) transition(member, from, to string) {
	node := slices.Index(f.urls, member)
	if node < 0 {
		return
	}
	t := f.downReasons[node]
	before := len(t)
	delete(t, from)
	if to != "up" {
		t[to] = true
	}
	if up := len(t) == 0; up != (before == 0) {
		f.setUp(node, up)
	}
}

// setUp reports that a node is up or down. f.mu is held, so that the last report is the
// current one.
func (f *fleet) setUp(node int, up bool) {
	if f.table != nil {
		f.table.SetUp(node, up)
	}
	if up {
		f.nodeReturned(node)
	}
}

// recheckExistence checks again whether the database exists on a node that got a request to
// create or delete it. If node is -1, any node may have got it, and all are checked.
func (f *fleet) recheckExistence(db *follow.Database, node int) {
	if node >= 0 {
		db.RecheckExistence(node)
		return
	}
	for node := range f.urls {
		db.RecheckExistence(node)
	}
}

// available returns the nodes of an order that are up, or all of them if none is.
func (f *fleet) available(o nodeOrder) nodeOrder {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := make(nodeOrder, 0, len(o))
	for _, node := range o {
		if len(f.downReasons[node]) == 0 {
			kept = append(kept, node)
		}
	}
	if len(kept) == 0 {
		return o
	}
	return kept
}

// nodeReturned is called when a node may have been restarted.
func (f *fleet) nodeReturned(node int) {
	if f.keeper != nil {
		f.keeper.NodeReturned(node)
	}
}

// nodeLagging is called when a database on node does not get the changes of others.
func (f *fleet) nodeLagging(db string, node int) {
	if f.keeper != nil {
		f.keeper.Stalled(db, node)
	}
}

// adoptStates adopts the present states of the nodes from the balancer. It repeats this if
// the balancer reports a newer state meanwhile.
func (f *fleet) adoptStates(members func() []balance.MemberState) {
	for {
		f.mu.Lock()
		moves := f.transitions
		f.mu.Unlock()
		if f.tryAdoptStates(members(), moves) {
			return
		}
	}
}

// tryAdoptStates adopts the states unless there were transitions since.
func (f *fleet) tryAdoptStates(members []balance.MemberState, moves int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.transitions != moves {
		return false
	}
	for _, m := range members {
		if m.State != "up" {
			f.transition(m.Name, "up", m.State)
		}
	}
	return true
}

// notes returns sentences for an administrator.
func (f *fleet) notes() (notes []string) {
	if f.table != nil {
		notes = f.table.Notes()
	}
	if f.keeper != nil {
		notes = append(notes, f.keeper.notes()...)
	}
	return notes
}

// sharedFeeds returns the feeds that clients share.
func (f *fleet) sharedFeeds() (list []admin.Feed) {
	for _, s := range f.feeds.States() {
		list = append(list, admin.Feed{
			Database: url.PathEscape(s.DB), Query: s.Query, Origin: f.urls[s.Node], State: s.Phase, Clients: s.Clients, Rows: s.Rows, Bytes: s.Bytes,
		})
	}
	return list
}
