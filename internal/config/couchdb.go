package config

import (
	"fmt"
	"slices"
	"strings"
)

// CouchDB is a service of type couchdb: an accelerator before CouchDB nodes with the
// same databases. What was read is kept until a node's feed, or a write through
// Kasoku, tells of a change; couchdb.md tells the rules.
type CouchDB struct {
	// URLs of the nodes, such as http://10.0.0.1:5984, which replicate their databases to
	// each other, with CouchDB's own means or by replicate. Their order counts: see
	// writes. In what follows they are called origins, too. Of a cluster, which is one
	// database on several machines, give one address.
	Nodes []URL `yaml:"nodes" required:"there is nothing to accelerate without one"`
	// Who Kasoku is to the nodes in its own requests: feeds, replications, questions
	// about health. Clients bring their own credentials. Left out, such requests bring
	// none, which is enough for databases that everybody may read.
	Auth CouchAuth `yaml:"auth"`
	// How a node is chosen for a read, of those that are caught up: `round_robin` in turn,
	// `least_requests` the one with the fewest under way, `p2c_ewma` of two drawn at random the
	// one that answers sooner, `consistent_hash` the same one for the same URL.
	Balance string `yaml:"balance" default:"round_robin" enum:"round_robin|least_requests|p2c_ewma|consistent_hash"`
	// Which node gets writes: `first` is the first in the order of nodes that is well;
	// `any` spreads them, those of one document to one node. With any, every node
	// must replicate to every other.
	Writes string `yaml:"writes" default:"first" enum:"first|any"`
	// Whether the feeds of databases in use are followed, on every node, and what was
	// read of these databases is kept. With `false` Kasoku balances, and keeps nothing
	// of databases.
	FollowChanges bool `yaml:"follow_changes" default:"true"`
	// How long what is kept is given out without a sign that every node's feed is alive:
	// for as long can a write made past Kasoku stay unseen when a feed falls silent. Lower
	// values make more misses where the network stutters.
	MaxUnfollowed Duration `yaml:"max_unfollowed" default:"1s" min:"500ms"`
	// How long a node may lack a change that another one has. One that lags more gets no reads
	// until it has caught up, unless all do. Where databases are not followed, it is how long
	// a client reads from the node that took its last write, in whole seconds.
	MaxLag Duration `yaml:"max_lag" default:"10s" min:"100ms"`
	// How long it is remembered whether somebody may read a database: for as long can
	// a change of rights that is made past Kasoku stay unseen. Each time that it is over a
	// node is asked once.
	VisibleTTL Duration `yaml:"visible_ttl" default:"2s" min:"100ms"`
	// How many databases are followed at a time, each with a connection to each node.
	// What is read of others is not kept.
	MaxDatabases int `yaml:"max_databases" default:"1000" min:"1"`
	// Continuous replications between the nodes that Kasoku makes and keeps alive; left
	// out, none.
	Replicate *Replicate `yaml:"replicate"`

	Reach `yaml:",inline"`
	// Longest time from the last byte of the request to the head of its answer; beyond
	// it the client gets 504. What a node may have to build an index for (views, lists,
	// _find and the like) has ten minutes, unless this is more.
	FirstByteTimeout Duration `yaml:"first_byte_timeout" default:"10m" min:"1ms"`
	// Longest pause within an answer; beyond it the answer is cut. Live feeds have
	// pauses of up to a minute.
	StallTimeout Duration `yaml:"stall_timeout" default:"90s" min:"1ms"`
	// How much of the answer to a read is held before its client gets any of it, so that another
	// node can be asked if the one that answers dies meanwhile; for a second at most. An
	// answer that is known to be longer is not held, and live feeds are not either. 0 holds nothing.
	Buffer  Size `yaml:"buffer" default:"1MiB" min:"0B" max:"64MiB"`
	Passing `yaml:",inline"`
	// Calls of callbacks around answers, in place of CouchDB's own allow_jsonp, which should be
	// off; left out, the callback is an argument like any other.
	JSONP *JSONP `yaml:"jsonp"`
}

// CouchAuth is who Kasoku is to the nodes.
type CouchAuth struct {
	// Name of a user who may read the databases, and is an administrator where
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

// Password is the resolved password.
func (a *CouchAuth) Password() string { return a.password }

// Replicate says what is replicated between the nodes.
type Replicate struct {
	// Names of the databases, which must be there on every node. With `_users` among them all
	// nodes know the same users and passwords.
	Databases []string `yaml:"databases" required:"nothing is replicated without one"`
	// `from_first`: what changes on the first node goes to all others; `both`: from every
	// node to every other.
	Direction string `yaml:"direction" default:"from_first" enum:"from_first|both"`
}

// maxNodes is how many nodes a service can keep apart.
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
		return // told already
	}
	if u.reaches(listen) {
		k.failf(path, "%s is this service's own listener: each request would come back to it for ever", u)
	}
	if rest := u.path(); rest != "" && rest != "/" {
		k.failf(path, "has the path %s; requests are forwarded with the path that they came with", rest)
	}
	same := func(o URL) bool { return strings.TrimSuffix(o.String(), "/") == strings.TrimSuffix(u.String(), "/") }
	if j := slices.IndexFunc(before, same); j >= 0 {
		k.failf(path, "%s is already nodes[%d]", u, j)
	}
}

func (k *checker) couchAuth(path string, a *CouchAuth) {
	var well bool
	a.password, well = k.credentials(path, a.Username, a.PasswordEnv, a.PasswordFile)
	if well && strings.Contains(a.Username, ":") {
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
		k.failf(path+".direction", `from_first leaves what "writes: any" stores on other nodes there; say both`)
	}
	if _, given := k.places[path+".databases"]; given && r.Databases != nil && len(r.Databases) == 0 {
		k.failf(path+".databases", "none: nothing would be replicated")
	}
	for i, name := range r.Databases {
		at := fmt.Sprintf("%s.databases[%d]", path, i)
		switch {
		case name == "": // told already
		case name[0] == '_' && name != "_users":
			k.failf(at, "%q is a node's own database", name)
		case slices.Contains(r.Databases[:i], name):
			k.failf(at, "%q is given twice", name)
		}
	}
}

// couchUnused finds keys that mean nothing where nothing is kept.
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
