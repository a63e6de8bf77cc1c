package config

import (
	"fmt"
	"slices"
	"strings"
)

// CouchDB is a service of type couchdb: an accelerator for CouchDB nodes that have the same
// databases. Answers are cached until a node's feed, or a write through Kasoku, reports a
// change; see couchdb.md.
type CouchDB struct {
	// URLs of the nodes, for example http://10.0.0.1:5984, which replicate their databases
	// to each other, with CouchDB's own means or by replicate. Their order counts: see
	// writes. Below they are also called origins. Of a cluster, which is one database on
	// several machines, give one address.
	Nodes []URL `yaml:"nodes" required:"there is nothing to accelerate without one"`
	// Credentials of Kasoku's own requests to the nodes: feeds, replications, health checks.
	// Clients use their own credentials. Left out: such requests have none, which is enough
	// for public databases.
	Auth CouchAuth `yaml:"auth"`
	// Selection of the node for writes: `first` is the first healthy one in the order of
	// nodes; `any` spreads them, with all writes of a document to one node. With any, every
	// node must replicate to every other.
	Writes string `yaml:"writes" default:"first" enum:"first|any"`
	// Whether the feeds of databases in use are followed, on every node, and answers from
	// these databases are cached. With `false` Kasoku balances, and caches nothing of
	// databases.
	FollowChanges bool `yaml:"follow_changes" default:"true"`
	// Maximum age of the last sign that every node's feed is alive for cached answers to be
	// served. It bounds how long a write past Kasoku can be unseen when a feed fails
	// silently. Lower values cause more misses on unsteady networks.
	MaxUnfollowed Duration `yaml:"max_unfollowed" default:"1s" min:"500ms"`
	// How long a node may lack a change that another one has. A node that lags more gets no
	// reads until it has caught up, unless all lag. For databases that are not followed, it
	// is how long a client reads from the node with its last write, in whole seconds.
	MaxLag Duration `yaml:"max_lag" default:"10s" min:"100ms"`
	// How long a client's permission to read a database is cached: a change of permissions
	// past Kasoku can be unseen for this time. After it, one node is queried once.
	VisibleTTL Duration `yaml:"visible_ttl" default:"2s" min:"100ms"`
	// Maximum number of databases that are followed at a time, each with a connection to
	// each node. Answers from other databases are not cached.
	MaxDatabases int `yaml:"max_databases" default:"1000" min:"1"`
	// Continuous replications between the nodes that Kasoku creates and restarts; left out:
	// none.
	Replicate *Replicate `yaml:"replicate"`

	Reach `yaml:",inline"`
	// Timeout from the last byte of the request to the head of its answer; beyond it the
	// client gets 504. Requests for which a node may have to build an index (views, lists,
	// _find and similar) have ten minutes, unless this is more.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"10m" min:"1ms"`
	// Maximum pause within an answer; beyond it the answer is cut. Live feeds have pauses of
	// up to a minute.
	StallTimeout Duration `yaml:"stall_timeout" default:"90s" min:"1ms"`
	// Size of the part of an answer to a read that is held back, for a second at most, so
	// that another node can be tried if the first one fails. Answers that are known to be
	// longer, and live feeds, are not held back. 0 holds nothing back.
	Buffer  Size `yaml:"buffer" default:"1MiB" min:"0B" max:"64MiB"`
	Passing `yaml:",inline"`
	// JSONP callbacks around answers, in place of CouchDB's own allow_jsonp, which should be
	// off; left out: the callback is an argument like any other.
	JSONP *JSONP `yaml:"jsonp"`
}

// CouchAuth holds the credentials of Kasoku's own requests to the nodes.
type CouchAuth struct {
	// Name of a user with read access to the databases, and with administrator rights if
	// replicate is used.
	Username string `yaml:"username"`
	// Name of the environment variable that holds the password.
	PasswordEnv string `yaml:"password_env"`
	// File that holds the password, instead of password_env; white space at its end is
	// ignored. It is read again on SIGHUP.
	PasswordFile string `yaml:"password_file"`

	_ struct{} `yaml:"password" refuse:"the file is copied and committed; name an environment variable in password_env or a file in password_file"`

	password string
}

// Password returns the resolved password.
func (a *CouchAuth) Password() string { return a.password }

// Replicate specifies the replications between the nodes.
type Replicate struct {
	// Names of the databases, which must exist on every node. With `_users` among them all
	// nodes have the same users and passwords.
	Databases []string `yaml:"databases" required:"nothing is replicated without one"`
	// `from_first`: changes on the first node are replicated to all others; `both`: from
	// every node to every other.
	Direction string `yaml:"direction" default:"from_first" enum:"from_first|both"`
}

// maxNodes is the maximum number of nodes of a service.
const maxNodes = 64

func (k *checker) couchdb(path string, s *Service) {
	c := s.CouchDB
	if _, given := k.places[path+".nodes"]; given && c.Nodes != nil && len(c.Nodes) == 0 {
		k.failf(path+".nodes", "none: there is nothing to accelerate without one")
	}
	if len(c.Nodes) > maxNodes {
		k.failf(path+".nodes", "%d are too many: at most %d", len(c.Nodes), maxNodes)
	}
	for i, u := range c.Nodes {
		k.node(fmt.Sprintf("%s.nodes[%d]", path, i), u, c.Nodes[:i], s.Listen)
	}
	k.couchAuth(path+".auth", &c.Auth)
	k.replicate(path, c)
	k.reach(path, &c.Reach)
	k.passing(path, &c.Passing)
	k.jsonp(path+".jsonp", c.JSONP)
	if len(c.Nodes) == 1 && c.Buffer != defaultOf[CouchDB]().Buffer {
		k.failf(path+".buffer", "has no effect with one node")
	}
	k.couchUnused(path, c)
	k.proxyUnused(path, s, "")
}

func (k *checker) node(path string, u URL, before []URL, listen Address) {
	if u == "" {
		return // already reported
	}
	k.destination(path, u, listen)
	same := func(o URL) bool { return strings.TrimSuffix(o.String(), "/") == strings.TrimSuffix(u.String(), "/") }
	if j := slices.IndexFunc(before, same); j >= 0 {
		k.failf(path, "%s is already nodes[%d]", u, j)
	}
}

func (k *checker) couchAuth(path string, a *CouchAuth) {
	var ok bool
	a.password, ok = k.credentials(path, a.Username, a.PasswordEnv, a.PasswordFile)
	if ok && strings.Contains(a.Username, ":") {
		k.failf(path+".username", "%q has a colon, which ends the name in a request", a.Username)
	}
}

func (k *checker) replicate(path string, c *CouchDB) {
	r := c.Replicate
	if len(c.Nodes) == 1 && c.Writes == "any" {
		k.failf(path+".writes", "any has no effect with one node")
	}
	if r == nil {
		return
	}
	path += ".replicate"
	if len(c.Nodes) == 1 {
		k.failf(path, "has no effect with one node")
	}
	if c.Writes == "any" && r.Direction == "from_first" {
		k.failf(path+".direction", `from_first does not replicate writes that "writes: any" sends to other nodes; use both`)
	}
	if _, given := k.places[path+".databases"]; given && r.Databases != nil && len(r.Databases) == 0 {
		k.failf(path+".databases", "none: nothing would be replicated")
	}
	for i, name := range r.Databases {
		at := fmt.Sprintf("%s.databases[%d]", path, i)
		switch {
		case name == "": // already reported
		case name[0] == '_' && name != "_users":
			k.failf(at, "%q is a node's own database", name)
		case slices.Contains(r.Databases[:i], name):
			k.failf(at, "%q is given twice", name)
		}
	}
}

// couchUnused reports keys that have no meaning if nothing is cached.
func (k *checker) couchUnused(path string, c *CouchDB) {
	if c.FollowChanges {
		return
	}
	usual := defaultOf[CouchDB]()
	f := func(key string, changed bool) {
		if changed {
			k.failf(path+"."+key, `has no effect with "follow_changes: false"`)
		}
	}
	f("max_unfollowed", c.MaxUnfollowed != usual.MaxUnfollowed)
	f("max_databases", c.MaxDatabases != usual.MaxDatabases)
}
