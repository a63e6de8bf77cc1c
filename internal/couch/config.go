package couch

import (
	"errors"
	"fmt"
	"time"

	"github.com/kasoku/kasoku/internal/couch/follow"
	"github.com/kasoku/kasoku/internal/httpcache"
)

// Config says which nodes stand behind a service of type couchdb and what may be
// kept of them. Durations and counts that are 0 mean their default.
type Config struct {
	// Name is the service's name in the configuration.
	Name string
	// Nodes are the nodes' URLs, scheme://host[:port] without a path. They have the
	// same databases and replicate them to each other. Their order counts: see Writes.
	// At most follow.MaxNodes.
	Nodes []string
	// User and Password are those of Kasoku's own requests: feeds, comparisons,
	// replications. They must be allowed to read what is to be kept, and to write
	// where Replicate says so. Empty: such requests bring no credentials.
	User, Password string
	// Writes says which node gets writes: WritesFirst or WritesAny.
	Writes string
	// Follow has the feeds of databases followed and what was read of them kept.
	// Without it Kasoku balances and keeps nothing of databases.
	Follow bool
	// MaxUnfollowed is for how long copies are given out without a sign that every
	// node's feed is alive. Default 1s.
	MaxUnfollowed time.Duration
	// MaxLag is how long a node may lack a change that another has; a node that lags
	// more gets no reads until it has caught up, unless all do. Default 10s.
	MaxLag time.Duration
	// VisibleTTL is how long it is remembered whether somebody may read a database.
	// Default 2s.
	VisibleTTL time.Duration
	// MaxDatabases is how many databases are followed at a time. What is read of
	// others is not kept. Default 1000.
	MaxDatabases int
	// Buffer is how many bytes of an answer to a read are held before its client gets any of
	// them: if it breaks off meanwhile, another node is asked. 0 holds nothing.
	Buffer int64
	// Replicate are the replications that are kept alive.
	Replicate Replicate
	// HTTP is the configuration of the engine, as that of type http: forwarding, what
	// is kept, codings, callbacks, and in Group the balancing of reads, health, ejection, retries,
	// hedging and timeouts. Name, Group.Members and what RFC 9111 leaves to a cache are
	// set by the service. Group.Check.Path empty: nodes are asked for /_up, with GET, or /
	// where there is no /_up.
	HTTP httpcache.Config
}

// Replicate says which databases are replicated between the nodes.
type Replicate struct {
	// Databases are the names, without escapes.
	Databases []string
	// Both replicates from every node to every other; else the first node's changes go
	// to all others.
	Both bool
}

// The choices of a node for writes.
const (
	// WritesFirst gives all writes to the first node that is well, in the order of
	// Nodes.
	WritesFirst = "first"
	// WritesAny spreads writes over the nodes that are well, those of one document to
	// one node. The nodes must replicate to each other both ways.
	WritesAny = "any"
)

func (c Config) withDefaults() Config {
	if c.Writes == "" {
		c.Writes = WritesFirst
	}
	if c.MaxUnfollowed == 0 {
		c.MaxUnfollowed = time.Second
	}
	if c.MaxLag == 0 {
		c.MaxLag = 10 * time.Second
	}
	if c.VisibleTTL == 0 {
		c.VisibleTTL = 2 * time.Second
	}
	if c.MaxDatabases == 0 {
		c.MaxDatabases = 1000
	}
	return c
}

// validate fills in the defaults and finds what can't be.
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
