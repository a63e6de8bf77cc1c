package config

import (
	"cmp"
	"net"
	"slices"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

// Cluster joins this Kasoku, as a node, with others before the same origin: no read through
// any of them is older than the last acknowledged write through another one. All nodes have
// the same services. Nodes that are on one machine need different values for node and for
// all addresses; the others can share one file, in which `${NODE}` is replaced by an
// environment variable. A change of this section takes effect at a restart: a reload with
// one is refused.
type Cluster struct {
	// Name of the cluster, equal on all nodes: up to 40 of lower-case letters, digits and
	// `-`. Nodes of other names are refused.
	Name string `yaml:"name" required:"nodes of one name form a cluster"`
	// Name of this node, unique within the cluster: letters, digits, `.`, `_` and `-`. Left
	// out: the host's name.
	Node string `yaml:"node"`
	// Address that the other nodes connect to, as `host:port`. Addresses off loopback need
	// tls.
	Listen Address `yaml:"listen" default:"127.0.0.1:7400"`
	// Address at which the other nodes reach this one, if it is not that of listen: behind
	// published ports of containers, or if listen is every interface. The default port is
	// that of listen.
	Advertise NodeAddress `yaml:"advertise"`
	// Addresses of some other nodes, as `host:port` or names; one that is up suffices, and
	// that of this node may be among them. All addresses of a name are tried, for example
	// of a headless service in Kubernetes. The default port is that of listen. Left out: no
	// other node is contacted, as for the first node of a cluster.
	Join []NodeAddress `yaml:"join"`
	// NATS deployment of your own that carries the messages between nodes, as
	// `nats://host:port` or `tls://host:port`, several separated by commas; off loopback
	// `tls` is required. Left out: each node has a server of its own, and listen, advertise
	// and join describe the connections between these. The deployment must allow to publish
	// and to subscribe below `kasoku.<name>`. If it also has the list of members, it needs
	// JetStream; docs/cluster.md lists the permissions.
	NATS string `yaml:"nats"`
	// File with the credentials for the deployment: a user's JWT and its key (`.creds`).
	NATSCredentials string `yaml:"nats_credentials"`
	// Availability zone of this node, shown by `kasoku cluster`. It is also the default of
	// the zone in a service's dax.
	Zone string `yaml:"zone"`
	// Mutual TLS between nodes. Required unless all addresses of the section are on
	// loopback. With nats, that of the connection to the deployment; there it may be left
	// out for a server whose certificate the system trusts.
	TLS *ClusterTLS `yaml:"tls"`
	// How long a node serves from its cache after the last proof that it is a member, which
	// it reads from the view in the background. When a node stops without leaving, writes
	// through the others wait for somewhat longer than this time. Lower values shorten that
	// wait and cause more reads of the view. All nodes need the same value.
	Lease Duration `yaml:"lease" default:"1500ms" min:"500ms" max:"10s"`
	// Place of the view, the list of members.
	View ClusterView `yaml:"view"`
	// Makes this node a witness: it keeps a copy of the list of members in view.directory, so
	// that two other nodes go on when one of them dies, and takes part in nothing else. Its
	// file has no services.
	Witness bool `yaml:"witness" default:"false"`
	// Treatment of writes while this node has no lease, for example because the origin does
	// not answer: `refuse` answers with an error that clients retry; `pass` forwards them to
	// the origin, and other nodes may serve the old values until their TTL.
	IsolatedWrites string `yaml:"isolated_writes" default:"refuse" enum:"refuse|pass"`
	// Limits of what this node takes over from the memory of other nodes when it has joined.
	Warm ClusterWarm `yaml:"warm"`

	host string // the host's name, if node is left out
}

// ClusterTLS is the mutual authentication and encryption of connections between nodes.
type ClusterTLS struct {
	// PEM file with this node's certificate, for both directions, followed by its chain.
	Cert string `yaml:"cert" required:"nodes check the certificates of each other"`
	// PEM file with the certificate's private key.
	Key string `yaml:"key" required:"it proves that the certificate is ours"`
	// PEM file with the authorities for the certificates of nodes. Every certificate of
	// these authorities is accepted as that of a node, so use an authority of your own.
	CA string `yaml:"ca" required:"nodes of any other authority are refused"`
}

// ClusterView is the place of the list of members: an item in a table at the origin of a
// service of type dynamodb, or a value in a key-value bucket of NATS. In both it is changed by
// conditional writes. A table leaves the rest to the origin, so that one node of two can go on
// alone. A bucket needs more than half of the servers that keep a copy of it: those of the
// nodes in `nodes`, or of a deployment of your own.
type ClusterView struct {
	// DynamoDB table of the item. It is created if it is missing, with the partition key
	// `cluster` of type text. Several clusters may share it.
	Table string `yaml:"table" default:"kasoku-cluster"`
	// Name of the service of type dynamodb whose origin has the table. Left out: the only
	// service of that type.
	Service string `yaml:"service"`
	// Name of a key-value bucket of NATS, in the place of a table: up to 64 letters, digits,
	// `_` and `-`. It is created if it is missing. Several clusters may share it. Left out:
	// `kasoku-<name>` if there is no service of type dynamodb, otherwise a table.
	Bucket string `yaml:"bucket"`
	// Names of the nodes that keep copies of the bucket: three or five, equal on all nodes.
	// All of them must be up when the cluster starts for the first time, and more than half
	// later; without these nothing is cached. Required with a bucket, unless it is in a
	// deployment of your own.
	Nodes []string `yaml:"nodes"`
	// Directory of this node's copy. Required on a node that is in `nodes`; the others ignore
	// it. Relative paths start at the directory of this file.
	Directory string `yaml:"directory"`
	// Copies of a bucket that this node creates in a deployment of your own: 1, 3 or 5.
	Replicas int `yaml:"replicas" default:"3" min:"1" max:"5"`
}

// ClusterWarm limits the warming of a node that has joined. In the background, it takes over the
// answers that the other nodes are the most likely to be asked for again.
type ClusterWarm struct {
	// Maximum number of answers; 0 for none.
	Keys int `yaml:"keys" default:"100000" min:"0" max:"1000000"`
	// Maximum number of answers per second.
	Rate int `yaml:"rate" default:"10000" min:"1"`
	// Maximum number of bytes per second.
	Bandwidth Size `yaml:"bandwidth" default:"32MiB" min:"1KiB"`
}

// NodeName returns the name of this node: the configured one, else the host's.
func (c *Cluster) NodeName() string { return cmp.Or(c.Node, c.host) }

// Advertised returns the host and port at which other nodes reach this one. The port is 0 if
// it is chosen only at the start.
func (c *Cluster) Advertised() string {
	return cmp.Or(c.Advertise, NodeAddress(c.Listen)).withPort(c.port())
}

// natsServer matches one server of a NATS deployment.
var natsServer = lazyregexp.New(`^(nats|tls)://([^/@?#,]+)$`)

// Joins returns the addresses of join with their ports.
func (c *Cluster) Joins() []string {
	list := make([]string, len(c.Join))
	for i, a := range c.Join {
		list[i] = a.withPort(c.port())
	}
	return list
}

// port returns the port of listen.
func (c *Cluster) port() string {
	_, port, err := net.SplitHostPort(string(c.Listen))
	if err != nil {
		return ""
	}
	return port
}

// ViewService returns the service whose origin holds the view of the cluster. It is nil
// without a cluster, and if the view is in a bucket.
func (c *Config) ViewService() *Service {
	if c.Cluster == nil || c.Cluster.View.Bucket != "" {
		return nil
	}
	if c.Cluster.View.Service != "" {
		return c.Service(c.Cluster.View.Service)
	}
	i := slices.IndexFunc(c.Services, func(s Service) bool { return s.DynamoDB != nil })
	if i < 0 {
		return nil
	}
	return &c.Services[i]
}

// ViewBucket returns the bucket that holds the view of the cluster. It is empty without a
// cluster, and if the view is in a table.
func (c *Config) ViewBucket() string {
	if c.Cluster == nil || c.ViewService() != nil {
		return ""
	}
	return cmp.Or(c.Cluster.View.Bucket, "kasoku-"+c.Cluster.Name)
}

// KeepsView reports whether this node keeps a copy of the bucket with the view.
func (c *Cluster) KeepsView() bool { return slices.Contains(c.View.Nodes, c.NodeName()) }

// NodeAddress is an address of a node for other nodes to connect to: host:port, or a host
// alone if the port is implied.
type NodeAddress string

func (a *NodeAddress) set(text string) error {
	if err := reachable(text, "10.0.0.5:7400, node-a.example or [2001:db8::5]:7400", "other nodes"); err != nil {
		return err
	}
	*a = NodeAddress(text)
	return nil
}

func (a NodeAddress) String() string { return string(a) }

func (a NodeAddress) split() (host, port string, ok bool) { return Advertised(a).split() }

// loopback reports whether only this machine has the address.
func (a NodeAddress) loopback() bool {
	host, _, _ := a.split()
	return Address(net.JoinHostPort(host, "0")).Loopback()
}

// withPort returns the address with a port: its own, else the given one.
func (a NodeAddress) withPort(port string) string {
	host, own, _ := a.split()
	return net.JoinHostPort(host, cmp.Or(own, port))
}
