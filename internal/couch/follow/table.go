package follow

import (
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

// Config says which nodes are followed and how.
type Config struct {
	// Service is the service's name: of its tags, and in its metrics.
	Service string
	// Nodes are the names of the nodes, for metrics and logs: their URLs. Elsewhere
	// a node is its index here. At most MaxNodes.
	Nodes []string
	// Get sends a node the requests of its feeds, with Kasoku's own credentials. Their
	// answers may have no end.
	Get func(node int) Get
	Do  Do
	// Cache has the tags that move. Times that the methods take are readings of its
	// clock.
	Cache *cache.Cache
	// MaxUnfollowed is how long copies are given out without a sign that every node's
	// feed is alive. Default 1s.
	MaxUnfollowed time.Duration
	// MaxLag is for how long a node may lack a change until nothing is read from it.
	// Default 10s.
	MaxLag time.Duration
	// MaxDatabases is how many databases are followed at once; each takes a connection
	// to each node. Default 1000.
	MaxDatabases int
	// Idle is how long nobody has to ask for a database until it is let go. Default
	// 10m.
	Idle time.Duration
	// Pinned are the names of databases that are in use from the start, and for as
	// long as the table is.
	Pinned []string
	// Returned is told when a feed of a node is open again that had ended otherwise than
	// the node announced: it may have been restarted. It must not block. Nil tells
	// nobody.
	Returned func(node int)
	// Lagging is told that a node lacks a change of a database for longer than MaxLag,
	// now and again for as long as that is so. It must not block. Nil tells nobody.
	Lagging func(db string, node int)
	// Registry takes the metrics. Nil keeps none.
	Registry *telemetry.Registry
	Log      *slog.Logger
}

func (c *Config) setDefaults() {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&c.MaxUnfollowed, time.Second)
	set(&c.MaxLag, 10*time.Second)
	set(&c.Idle, 10*time.Minute)
	if c.MaxDatabases == 0 {
		c.MaxDatabases = 1000
	}
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
	incarnations atomic.Uint64  // see Database.Incarnation
	up           atomic.Uint64  // Nodes that the balancer takes for up

	// databases is replaced as a whole, so that Find takes no lock.
	databases atomic.Pointer[map[string]*Database]

	mu     sync.Mutex // whoever replaces found; taken before any Database.mu
	closed bool
}

// New makes a table of no database but those of Config.Always.
func New(cfg Config) *Table {
	cfg.setDefaults()
	t := &Table{cfg: cfg, tagger: NewTagger(cfg.Service)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.up.Store(uint64(AllNodes(len(cfg.Nodes))))
	// No two processes and no two tables have an incarnation in common.
	t.incarnations.Store(uint64(time.Now().UnixNano()))
	t.databases.Store(&map[string]*Database{})
	t.metrics = newMetrics(t)
	for _, name := range cfg.Pinned {
		t.Use([]byte(name))
	}
	return t
}

// Close ends all following, after which nothing is in use any more.
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

// Find returns a database by its name without escapes, nil if it is not in use.
func (t *Table) Find(name []byte) *Database {
	d := (*t.databases.Load())[string(name)]
	if d != nil && !d.used.Load() {
		d.used.Store(true)
	}
	return d
}

// Use is Find, but takes a database into use that is not. It returns nil for the
// server's own databases, whose names begin with an underscore, and if there are
// too many. It is best called for names that a node has confirmed: what others
// make up takes a place each for some seconds.
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

// SetUp takes what the balancer says of a node: whether it may get requests.
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

// firstUp is the node whose word on a database's existence counts.
func (t *Table) firstUp() int {
	up := NodeSet(t.up.Load())
	for node := range t.cfg.Nodes {
		if up.Has(node) {
			return node
		}
	}
	return 0
}

// release lets a database go.
func (t *Table) release(d *Database) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.releaseLocked(d)
}

// remove takes a database out. t.mu is held. It says no before its tag moves: an
// answer that was noted before is fenced by the tag, a later one is not kept. And
// it has said so before another one can take its place: see Database.Wrote.
func (t *Table) releaseLocked(d *Database) {
	if (*t.databases.Load())[d.name] != d {
		return
	}
	d.close()
	found := maps.Clone(*t.databases.Load())
	delete(found, d.name)
	t.databases.Store(&found)
}
