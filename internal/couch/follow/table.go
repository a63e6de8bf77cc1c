package follow

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// Do sends a node a request with Kasoku's own credentials and returns the whole answer,
// of at most a few megabytes. body is JSON, or nil.
type Do func(ctx context.Context, node int, method, path string, body []byte) (status int, answer []byte, err error)

// Config is the configuration of a Table.
type Config struct {
	// Service is the service's name, for tags and metrics.
	Service string
	// Nodes are the URLs of the nodes, which name them in metrics and logs. Elsewhere a node
	// is its index in Nodes. At most MaxNodes.
	Nodes []string
	// Get returns the function that sends a node the requests of its feeds, with Kasoku's
	// own credentials. The answers may be endless.
	Get func(node int) Get
	Do  Do
	// Cache has the tags that move. All times passed to methods are readings of its clock.
	Cache *cache.Cache
	// MaxUnfollowed is how long copies are served without a sign of life from every node's
	// feed. Default 1s.
	MaxUnfollowed time.Duration
	// MaxLag is how long a node may lack a change before reads avoid it. Default 10s.
	MaxLag time.Duration
	// MaxDatabases is the maximum number of databases followed at once. Each needs one
	// connection to each node. Default 1000.
	MaxDatabases int
	// Idle is the time without requests after which a database is released. Default 10m.
	Idle time.Duration
	// Pinned are the names of databases that are followed for the lifetime of the table.
	Pinned []string
	// Returned is called when a feed of a node is open again after it ended in another way
	// than the node announced: the node may have been restarted. It must not block, and may
	// be nil.
	Returned func(node int)
	// Lagging is called from time to time while a node lacks a change of a database for
	// longer than MaxLag. It must not block, and may be nil.
	Lagging func(db string, node int)
	// Registry registers the metrics; nil for none.
	Registry *telemetry.Registry
	Log      *slog.Logger
}

func (c *Config) setDefaults() {
	c.MaxUnfollowed = cmp.Or(c.MaxUnfollowed, time.Second)
	c.MaxLag = cmp.Or(c.MaxLag, 10*time.Second)
	c.Idle = cmp.Or(c.Idle, 10*time.Minute)
	c.MaxDatabases = cmp.Or(c.MaxDatabases, 1000)
	if c.Registry == nil {
		c.Registry = telemetry.NewRegistry()
	}
	if c.Returned == nil {
		c.Returned = func(int) {}
	}
	if c.Lagging == nil {
		c.Lagging = func(string, int) {}
	}
}

// Table holds the databases in use.
type Table struct {
	cfg          Config
	tagger       Tagger
	metrics      *metrics
	ctx          context.Context
	cancel       context.CancelFunc
	running      sync.WaitGroup // all goroutines of all databases
	incarnations atomic.Uint64  // the last one used; see Database.Incarnation
	up           atomic.Uint64  // NodeSet: the nodes that the balancer reports up

	// databases is replaced as a whole, so that Find needs no lock.
	databases atomic.Pointer[map[string]*Database]

	mu     sync.Mutex // held to replace databases; acquired before any Database.mu
	closed bool
}

// New returns a table with the databases of Config.Pinned.
func New(cfg Config) *Table {
	cfg.setDefaults()
	t := &Table{cfg: cfg, tagger: NewTagger(cfg.Service)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.up.Store(uint64(AllNodes(len(cfg.Nodes))))
	// No two processes and no two tables share an incarnation.
	t.incarnations.Store(uint64(time.Now().UnixNano()))
	t.databases.Store(&map[string]*Database{})
	t.metrics = newMetrics(t)
	for _, name := range cfg.Pinned {
		t.Use([]byte(name))
	}
	return t
}

// Close stops all followers. After that no database is in use.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	for _, d := range *t.databases.Load() {
		d.close()
	}
	t.databases.Store(&map[string]*Database{})
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}

// Find returns the database with the unescaped name, or nil if it is not in use.
func (t *Table) Find(name []byte) *Database {
	d := (*t.databases.Load())[string(name)]
	if d != nil && !d.used.Load() {
		d.used.Store(true)
	}
	return d
}

// Use is like Find, but begins to follow the database if it is not in use. It returns nil
// for system databases, whose names begin with an underscore, and if there are too many. Use
// should only be called for names that a node has confirmed, since a name without a database
// takes up a place for several seconds.
func (t *Table) Use(name []byte) *Database {
	if d := t.Find(name); d != nil {
		return d
	}
	if len(name) == 0 || name[0] == '_' {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	found := *t.databases.Load()
	switch d := found[string(name)]; {
	case d != nil:
		return d
	case t.closed:
		return nil
	case len(found) >= t.cfg.MaxDatabases:
		t.metrics.refused.Inc()
		return nil
	}
	d := t.open(string(name))
	found = maps.Clone(found)
	found[d.name] = d
	t.databases.Store(&found)
	return d
}

// SetUp sets whether the balancer sends requests to a node.
func (t *Table) SetUp(node int, up bool) {
	bit := uint64(1) << node
	if up {
		t.up.Or(bit)
	} else {
		t.up.And(^bit)
	}
	for _, d := range *t.databases.Load() {
		d.refresh()
	}
}

// firstUp returns the node that decides whether a database exists.
func (t *Table) firstUp() int {
	up := NodeSet(t.up.Load())
	for node := range t.cfg.Nodes {
		if up.Has(node) {
			return node
		}
	}
	return 0
}

// release stops following a database.
func (t *Table) release(d *Database) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(d)
}

// releaseLocked is release. t.mu is held. The database is barred before its tag moves, so
// that an answer whose tags were read before is fenced by the tag, and a later one is not
// cached. It is also barred before another Database can take its place: see Database.Wrote.
func (t *Table) releaseLocked(d *Database) {
	if (*t.databases.Load())[d.name] != d {
		return
	}
	d.close()
	found := maps.Clone(*t.databases.Load())
	delete(found, d.name)
	t.databases.Store(&found)
}
