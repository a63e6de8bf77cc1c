package couch

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// Config is the configuration of a service of type couchdb. Durations and counts that are 0
// mean their default.
type Config struct {
	// Name is the service's name in the configuration.
	Name string
	// Nodes are the URLs of the nodes, scheme://host[:port] without a path. The nodes have
	// the same databases and replicate them to each other. The order is significant: see
	// Writes. At most follow.MaxNodes.
	Nodes []string
	// User and Password are the credentials of Kasoku's own requests: feeds, comparisons,
	// replications. They need permission to read everything that is to be cached, and to
	// write if Replicate is used. If they are empty, such requests have no credentials.
	User, Password string
	// Writes selects the node for writes: WritesFirst or WritesAny.
	Writes string
	// Follow enables caching of databases, by following their feeds. Without it Kasoku only
	// balances the requests for databases.
	Follow bool
	// MaxUnfollowed is how long copies are served without a sign of life from every node's
	// feed. Default 1s.
	MaxUnfollowed time.Duration
	// MaxLag is how long a node may lack a change of another node. A node that lags more
	// gets no reads until it has caught up, unless all nodes lag. Default 10s.
	MaxLag time.Duration
	// VisibleTTL is how long a client's permission to read a database is cached. Default 2s.
	VisibleTTL time.Duration
	// MaxDatabases is the maximum number of databases that are followed at a time. Others
	// are not cached. Default 1000.
	MaxDatabases int
	// Buffer is the number of bytes of a read's answer that are buffered before the client
	// gets the first one. If the answer breaks off before that, another node is tried. 0
	// disables buffering.
	Buffer int64
	// Replicate are the replications that are kept running.
	Replicate Replicate
	// HTTP is the configuration of the engine, as for type http: forwarding, caching,
	// codings, callbacks, and in Group the balancing of reads, health checks, ejection,
	// retries, hedging and timeouts. The service sets Name, Group.Members and the choices
	// that RFC 9111 leaves to a cache. If Group.Check.Path is empty, nodes are checked by
	// GET of /_up, or of / if they have no /_up.
	HTTP httpcache.Config
}

// Replicate is the configuration of replications between the nodes.
type Replicate struct {
	// Databases are the names of the databases, unescaped.
	Databases []string
	// Both replicates from every node to every other one. Otherwise the first node is
	// replicated to all others.
	Both bool
}

// The values of Config.Writes.
const (
	// WritesFirst sends all writes to the first healthy node, in the order of Nodes.
	WritesFirst = "first"
	// WritesAny distributes writes over the healthy nodes; all writes of one document have the
	// same node. The nodes must replicate to each other both ways.
	WritesAny = "any"
)

func (c Config) withDefaults() Config {
	c.Writes = cmp.Or(c.Writes, WritesFirst)
	c.MaxUnfollowed = cmp.Or(c.MaxUnfollowed, time.Second)
	c.MaxLag = cmp.Or(c.MaxLag, 10*time.Second)
	c.VisibleTTL = cmp.Or(c.VisibleTTL, 2*time.Second)
	c.MaxDatabases = cmp.Or(c.MaxDatabases, 1000)
	return c
}

// validate returns the configuration with defaults, or an error.
func (c Config) validate() (Config, error) {
	c = c.withDefaults()
	switch {
	case len(c.Nodes) == 0:
		return c, errors.New("no nodes configured")
	case len(c.Nodes) > follow.MaxNodes:
		return c, fmt.Errorf("%d nodes; at most %d are possible", len(c.Nodes), follow.MaxNodes)
	case c.Writes != WritesFirst && c.Writes != WritesAny:
		return c, fmt.Errorf("writes is %q; it must be %q or %q", c.Writes, WritesFirst, WritesAny)
	}
	return c, nil
}
