package config

import (
	"fmt"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/lazyregexp"
)

var (
	clusterName = lazyregexp.New(`^[a-z0-9-]{1,40}$`)
	nodeName    = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	bucketName  = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	tableName   = lazyregexp.New(`^[A-Za-z0-9_.-]{3,255}$`)
)

func (k *checker) cluster() {
	c := k.config.Cluster
	if c == nil {
		return
	}
	if _, given := k.places["cluster.name"]; given && !clusterName().MatchString(c.Name) {
		k.failf("cluster.name", "%q is no name for a cluster: up to 40 of lower-case letters, digits and -", c.Name)
	}
	k.nodeName(c)
	if c.NATS != "" {
		k.clusterNATS(c)
	} else {
		k.clusterListen(c)
		k.clusterTLS(c)
		if c.NATSCredentials != "" {
			k.failf("cluster.nats_credentials", "they are for a deployment of your own, which nats names")
		}
	}
	if c.Zone != "" && !zoneName().MatchString(c.Zone) {
		k.failf("cluster.zone", "%q is no zone: up to 64 letters, digits, -, _ and .", c.Zone)
	}
	k.clusterView(c)
	for i := range k.config.Services {
		s := &k.config.Services[i]
		if s.DynamoDB != nil && s.DynamoDB.Origin.Embedded() {
			k.failf(join("services", s.Name)+".origin", "an embedded store is inside one process, so the nodes of a cluster can't share it; "+
				"run it as a Kasoku of its own, without a cluster, and write the URL of that")
		}
	}
}

func (k *checker) nodeName(c *Cluster) {
	if _, given := k.places["cluster.node"]; given {
		if !nodeName().MatchString(c.Node) {
			k.failf("cluster.node", "%q is no name for a node: up to 64 letters, digits, ., _ and -", c.Node)
		}
		return
	}
	host, err := os.Hostname()
	switch {
	case err != nil:
		k.failf("cluster", `lacks "node": the host's name can't be read: %v`, err)
	case !nodeName().MatchString(host):
		k.failf("cluster", `lacks "node": the host's name, %q, is no name for a node: up to 64 letters, digits, ., _ and -`, host)
	default:
		c.host = host
	}
}

func (k *checker) clusterListen(c *Cluster) {
	host, port, err := net.SplitHostPort(string(c.Listen))
	_, advertised := k.places["cluster.advertise"]
	switch {
	case strings.HasPrefix(string(c.Listen), "unix:"):
		k.failf("cluster.listen", "%s is a Unix socket, and nodes connect by TCP", c.Listen)
		return
	case err != nil:
		return // already reported
	case advertised && c.Advertise == "":
		return // already reported
	case anyHost(host) && !advertised:
		k.failf("cluster", `lacks "advertise": listen is every address, %s, and the other nodes need one that they can reach`, c.Listen)
		return
	}
	for i, a := range c.Join {
		if _, own, ok := a.split(); ok && own == "" && port == "0" {
			k.failf(fmt.Sprintf("cluster.join[%d]", i), "%s needs a port after a colon: that of listen is chosen only at the start", a)
		}
	}
	far := slices.IndexFunc(c.Join, func(a NodeAddress) bool { return a != "" && !a.loopback() })
	if far < 0 || !NodeAddress(c.Advertised()).loopback() {
		return
	}
	at := "cluster"
	if _, given := k.places["cluster.listen"]; given {
		at = "cluster.listen"
	}
	if advertised {
		at = "cluster.advertise"
	}
	k.failf(at, "the nodes to join, for example %s, are not on this machine and can't connect to %s; write an address that they can reach", c.Join[far], c.Advertised())
}

// clusterNATS checks the keys for a deployment of the user's.
func (k *checker) clusterNATS(c *Cluster) {
	for _, key := range []string{"listen", "advertise", "join"} {
		if _, given := k.places["cluster."+key]; given {
			k.failf("cluster."+key, "it has no meaning with nats: the nodes connect to the deployment, and not to each other")
		}
	}
	for _, url := range strings.Split(c.NATS, ",") {
		url = strings.TrimSpace(url)
		m := natsServer().FindStringSubmatch(url)
		switch {
		case strings.Contains(url, "@"):
			k.failf("cluster.nats", "it has credentials; write them into the file nats_credentials")
		case m == nil:
			k.failf("cluster.nats", "%q is no URL such as nats://127.0.0.1:4222 or tls://nats.example:4222; credentials are in the file nats_credentials", url)
		case m[1] == "nats" && !NodeAddress(m[2]).loopback():
			k.failf("cluster.nats", "%s is not on loopback, so it must be tls://%s", url, m[2])
		}
	}
	if t := c.TLS; t != nil {
		if t.Cert != "" && t.Key != "" { // else already reported
			k.clientTLS("cluster.tls", "", t.Cert, t.Key)
		}
		k.authorities("cluster.tls.ca", t.CA)
	}
	if c.NATSCredentials != "" {
		if _, err := os.ReadFile(k.config.Resolve(c.NATSCredentials)); err != nil {
			k.failf("cluster.nats_credentials", "can't be read: %v", err)
		}
	}
}

// clusterTLS checks the files, and reports the first address that needs them.
func (k *checker) clusterTLS(c *Cluster) {
	if t := c.TLS; t != nil {
		if t.Cert != "" && t.Key != "" { // else already reported
			k.clientTLS("cluster.tls", "", t.Cert, t.Key)
		}
		k.authorities("cluster.tls.ca", t.CA)
		return
	}
	const need = "%s is not on loopback, so tls with cert, key and ca is needed: nodes prove to each other that they belong to the cluster"
	if c.Listen != "" && !c.Listen.Loopback() {
		k.failf("cluster.listen", need, c.Listen)
		return
	}
	if c.Advertise != "" && !c.Advertise.loopback() {
		k.failf("cluster.advertise", need, c.Advertise)
		return
	}
	for i, a := range c.Join {
		if a != "" && !a.loopback() {
			k.failf(fmt.Sprintf("cluster.join[%d]", i), need, a)
			return
		}
	}
}

// clusterView checks the place of the list of members.
func (k *checker) clusterView(c *Cluster) {
	var names []string
	for i := range k.config.Services {
		if s := &k.config.Services[i]; s.DynamoDB != nil {
			names = append(names, s.Name)
		}
	}
	if c.View.Bucket != "" && !bucketName().MatchString(c.View.Bucket) {
		k.failf("cluster.view.bucket", "%q is no name for a bucket: up to 64 letters, digits, _ and -", c.View.Bucket)
	}
	if c.View.Bucket != "" || len(names) == 0 {
		k.clusterBucket(c)
	} else {
		k.clusterTable(c, names)
	}
}

// useless reports the keys of view that have other values than the defaults as mistakes, for one
// reason.
func (k *checker) useless(v *ClusterView, why string, keys ...string) {
	usual := defaultOf[ClusterView]()
	for _, f := range fieldsOf(reflect.TypeFor[ClusterView](), "") {
		value, def := reflect.ValueOf(v).Elem().FieldByIndex(f.index), reflect.ValueOf(usual).FieldByIndex(f.index)
		if slices.Contains(keys, f.name) && !reflect.DeepEqual(value.Interface(), def.Interface()) {
			k.failf("cluster.view."+f.name, "%s", why)
		}
	}
}

// clusterTable checks a view that is in a table at the origin of one of the services.
func (k *checker) clusterTable(c *Cluster, names []string) {
	v := &c.View
	if !tableName().MatchString(v.Table) {
		k.failf("cluster.view.table", "%q is no name for a table: 3 to 255 letters, digits, _ . and -", v.Table)
	}
	at := "cluster.view.service"
	_, given := k.places[at]
	switch {
	case given && !slices.Contains(names, v.Service):
		k.failf(at, "there is no service %q of type dynamodb%s; there are: %s", v.Service, meant(v.Service, names), strings.Join(names, ", "))
	case !given && len(names) > 1:
		k.failf("cluster", `lacks "view.service": the list of members is at the origin of one service of type dynamodb; there are: %s`, strings.Join(names, ", "))
	}
	k.useless(v, "it has no effect, because the list of members is in a table at the origin of a dynamodb service; view.bucket would move it to NATS",
		"nodes", "directory", "replicas")
	if c.Witness {
		k.failf("cluster.witness", "a witness keeps a copy of a list of members in NATS; here it is in a table at the origin of a dynamodb service, and one node of two can go on alone")
	}
}

// clusterBucket checks a view that is in a bucket of NATS.
func (k *checker) clusterBucket(c *Cluster) {
	v := &c.View
	k.useless(v, "it has no effect, because the list of members is in a bucket of NATS", "table", "service")
	if c.Witness && len(k.config.Services) > 0 {
		k.failf("cluster.witness", "a witness serves nothing: leave out the services, or witness")
	}
	if c.NATS != "" {
		k.useless(v, "it has no meaning with nats: your deployment keeps the copies of the list of members", "nodes", "directory")
		if c.Witness {
			k.failf("cluster.witness", "it has no meaning with nats: your deployment keeps the copies of the list of members")
		}
		if v.Replicas%2 == 0 {
			k.failf("cluster.view.replicas", "it is 1, 3 or 5")
		}
		return
	}
	k.useless(v, "it is for a deployment of your own; otherwise each of view.nodes has a copy", "replicas")
	k.viewNodes(c)
}

// viewNodes checks which nodes keep copies of the view.
func (k *checker) viewNodes(c *Cluster) {
	const at = "cluster.view.nodes"
	nodes := c.View.Nodes
	switch {
	case len(nodes) == 0:
		k.failf("cluster", `lacks "view.nodes": without a service of type dynamodb, the list of members is kept by three or five of the nodes, for example [a, b, c]`)
		return
	case len(nodes) != 3 && len(nodes) != 5:
		k.failf(at, "it has %d nodes; three can lose one of them, and five can lose two", len(nodes))
	}
	for i, n := range nodes {
		place := fmt.Sprintf("%s[%d]", at, i)
		switch {
		case !nodeName().MatchString(n):
			k.failf(place, "%q is no name for a node: up to 64 letters, digits, ., _ and -", n)
		case slices.Contains(nodes[:i], n):
			k.failf(place, "%s is in the list twice", n)
		}
	}
	switch {
	case c.KeepsView() && c.View.Directory == "":
		k.failf("cluster", `lacks "view.directory": node %s keeps a copy of the list of members, according to view.nodes`, c.NodeName())
	case c.Witness && !c.KeepsView():
		k.failf("cluster.witness", "a witness keeps a copy of the list of members, and node %s is not in view.nodes", c.NodeName())
	}
}
