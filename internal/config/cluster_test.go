package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const clustered = `services:
  orders: {type: dynamodb, listen: "127.0.0.1:8000", origin: "http://127.0.0.1:8001", region: local, auth: {mode: none}}
`

const site = `services: {site: {type: http, listen: "127.0.0.1:8088", origins: ["http://127.0.0.1:3000"]}}
`

const second = `  users: {type: dynamodb, listen: "127.0.0.1:8002", origin: "http://127.0.0.1:8001", region: local, auth: {mode: none}}
`

// parseCluster parses a section cluster in a file whose directory has certificates.
func parseCluster(t *testing.T, section, services string) (*Config, error) {
	t.Helper()
	return Parse(filepath.Join(directory(t), "k.yaml"), []byte("cluster: "+section+"\n"+services), environment)
}

// TestClusterMistakes has the mistakes that exclude each other in one file.
func TestClusterMistakes(t *testing.T) {
	const tls = "tls: {cert: cert.pem, key: key.pem, ca: cert.pem}"
	for name, c := range map[string]struct{ section, services, want string }{
		"section without a value": {"", clustered, "k.yaml:1:9: cluster: no value"},
		"word for the section":    {"orders", clustered, "k.yaml:1:10: cluster: expected a mapping"},
		"no name":                 {"{node: a}", clustered, `k.yaml:1:1: cluster: lacks "name": nodes of one name form a cluster`},
		"empty name":              {`{name: ""}`, clustered, `cluster.name: "" is no name for a cluster`},
		"long name":               {"{name: " + strings.Repeat("a", 41) + "}", clustered, "is no name for a cluster"},
		"long lease":              {"{name: a, lease: 11s}", clustered, "k.yaml:1:27: cluster.lease: 11s is too large: at most 10s"},
		"list for join":           {`{name: a, join: "127.0.0.1:7401"}`, clustered, "cluster.join: expected a list"},
		"socket":                  {"{name: a, listen: \"unix:/run/k\"}", clustered, "k.yaml:1:20: cluster.listen: unix:/run/k is a Unix socket, and nodes connect by TCP"},
		"listener of a service":   {`{name: a, listen: "127.0.0.1:8000"}`, clustered, "services.orders.listen: 127.0.0.1:8000 is already taken by cluster.listen"},
		"every address":           {"{name: a, listen: \":7400\", " + tls + "}", clustered, `k.yaml:1:1: cluster: lacks "advertise": listen is every address, :7400`},
		"listen without TLS":      {`{name: a, listen: "10.0.0.1:7400"}`, clustered, "k.yaml:1:20: cluster.listen: 10.0.0.1:7400 is not on loopback, so tls with cert, key and ca is needed"},
		"advertise without TLS":   {"{name: a, advertise: kasoku-a}", clustered, "k.yaml:1:20: cluster.advertise: kasoku-a is not on loopback"},
		"join without TLS":        {`{name: a, join: [localhost, "127.0.0.2:1", "[::1]:1", 10.0.0.2]}`, clustered, "cluster.join[3]: 10.0.0.2 is not on loopback"},
		"TLS without authority":   {"{name: a, tls: {cert: cert.pem, key: key.pem}}", clustered, `cluster.tls: lacks "ca": nodes of any other authority are refused`},
		"TLS without key":         {"{name: a, tls: {cert: cert.pem, ca: cert.pem}}", clustered, `cluster.tls: lacks "key": it proves that the certificate is ours`},
		"default listen, far":     {"{name: a, join: [kasoku-b], " + tls + "}", clustered, "k.yaml:1:1: cluster: the nodes to join, for example kasoku-b, are not on this machine and can't connect to 127.0.0.1:7400"},
		"listen, far":             {"{name: a, listen: \"localhost:7400\", join: [kasoku-b], " + tls + "}", clustered, "k.yaml:1:20: cluster.listen: the nodes to join"},
		"advertise, far":          {"{name: a, listen: \":7400\", advertise: localhost, join: [kasoku-b], " + tls + "}", clustered, "cluster.advertise: the nodes to join"},
		"join without port":       {`{name: a, listen: "127.0.0.1:0", join: [localhost]}`, clustered, "cluster.join[0]: localhost needs a port after a colon"},
		"no table":                {"{name: a, view: {table: \"\"}}", clustered, `cluster.view.table: "" is no name for a table`},
		"no dynamodb": {"{name: a}", site,
			`k.yaml:1:1: cluster: lacks "view.nodes": without a service of type dynamodb, the list of members is kept by three or five of the nodes`},
		"several dynamodb": {"{name: a}", clustered + second,
			`k.yaml:1:1: cluster: lacks "view.service": the list of members is at the origin of one service of type dynamodb; there are: orders, users`},
		"name of the bucket":   {"{name: a, view: {bucket: a.b}}", site, `cluster.view.bucket: "a.b" is no name for a bucket`},
		"bucket and table":     {"{name: a, view: {bucket: b, table: members, nodes: [x, y, z]}}", clustered, "cluster.view.table: it has no effect, because the list of members is in a bucket"},
		"bucket and service":   {"{name: a, view: {bucket: b, service: orders, nodes: [x, y, z]}}", clustered, "cluster.view.service: it has no effect, because the list of members is in a bucket"},
		"bucket without nodes": {"{name: a, view: {bucket: b}}", clustered, `cluster: lacks "view.nodes"`},
		"table and nodes":      {"{name: a, view: {nodes: [x, y, z]}}", clustered, "cluster.view.nodes: it has no effect, because the list of members is in a table"},
		"table and directory":  {"{name: a, view: {directory: d}}", clustered, "cluster.view.directory: it has no effect, because the list of members is in a table"},
		"table and replicas":   {"{name: a, view: {replicas: 1}}", clustered, "cluster.view.replicas: it has no effect, because the list of members is in a table"},
		"table and witness":    {"{name: a, witness: true}", clustered, "cluster.witness: a witness keeps a copy of a list of members in NATS; here it is in a table"},
		"two nodes":            {"{name: a, view: {nodes: [x, y]}}", site, "cluster.view.nodes: it has 2 nodes; three can lose one"},
		"name in nodes":        {`{name: a, view: {nodes: [x, "y z", z]}}`, site, `cluster.view.nodes[1]: "y z" is no name for a node`},
		"node twice":           {"{name: a, view: {nodes: [x, y, x]}}", site, "cluster.view.nodes[2]: x is in the list twice"},
		"no directory":         {"{name: a, node: x, view: {nodes: [x, y, z]}}", site, `cluster: lacks "view.directory": node x keeps a copy`},
		"replicas":             {"{name: a, node: x, view: {nodes: [x, y, z], directory: d, replicas: 5}}", site, "cluster.view.replicas: it is for a deployment of your own"},
		"witness elsewhere":    {"{name: a, node: w, witness: true, view: {nodes: [x, y, z]}}", "", "cluster.witness: a witness keeps a copy of the list of members, and node w is not in view.nodes"},
		"witness and service":  {"{name: a, node: x, witness: true, view: {nodes: [x, y, z], directory: d}}", site, "cluster.witness: a witness serves nothing"},
		"no witness":           {"{name: a, node: x, witness: false, view: {nodes: [x, y, z], directory: d}}", "", "there is nothing to serve without one"},
		"deployment, nodes":    {"{name: a, nats: \"nats://127.0.0.1:4222\", view: {nodes: [x, y, z], directory: d}}", site, "cluster.view.nodes: it has no meaning with nats"},
		"deployment, even":     {"{name: a, nats: \"nats://127.0.0.1:4222\", view: {replicas: 2}}", site, "cluster.view.replicas: it is 1, 3 or 5"},
		"deployment, witness":  {"{name: a, nats: \"nats://127.0.0.1:4222\", witness: true}", "", "cluster.witness: it has no meaning with nats"},
		"empty service":        {"{name: a, view: {service: \"\"}}", clustered + second, `cluster.view.service: there is no service "" of type dynamodb`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseCluster(t, c.section, c.services)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestClusterValues(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	const tls = "tls: {cert: cert.pem, key: key.pem, ca: cert.pem}"
	for name, c := range map[string]struct {
		section, services         string
		node, advertised, service string
		joins                     []string
	}{
		"defaults":      {"{name: a}", clustered, host, "127.0.0.1:7400", "orders", nil},
		"own port":      {`{name: a, node: n1, listen: "127.0.0.1:7500", join: [localhost, "127.0.0.1:7501", "::1"]}`, clustered, "n1", "127.0.0.1:7500", "orders", []string{"localhost:7500", "127.0.0.1:7501", "[::1]:7500"}},
		"advertise":     {`{name: a, listen: ":7500", advertise: kasoku-a, view: {service: users}, ` + tls + "}", clustered + second, host, "kasoku-a:7500", "users", nil},
		"two ports":     {`{name: a, listen: ":7500", advertise: "[2001:db8::5]:80", ` + tls + "}", clustered, host, "[2001:db8::5]:80", "orders", nil},
		"any port":      {`{name: a, listen: "127.0.0.1:0", join: ["127.0.0.1:7400"]}`, clustered, host, "127.0.0.1:0", "orders", []string{"127.0.0.1:7400"}},
		"another first": {"{name: a}", strings.Replace(clustered, "services:\n", "services:\n  site: {type: http, listen: \"127.0.0.1:8088\", origins: [\"http://127.0.0.1:3000\"]}\n", 1), host, "127.0.0.1:7400", "orders", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseCluster(t, c.section, c.services)
			if err != nil {
				t.Fatal(err)
			}
			if node := got.Cluster.NodeName(); node != c.node {
				t.Errorf("NodeName: got %q, want %q", node, c.node)
			}
			if at := got.Cluster.Advertised(); at != c.advertised {
				t.Errorf("Advertised: got %q, want %q", at, c.advertised)
			}
			if service := got.ViewService().Name; service != c.service {
				t.Errorf("ViewService: got %q, want %q", service, c.service)
			}
			if joins := got.Cluster.Joins(); !slices.Equal(joins, c.joins) {
				t.Errorf("Joins: got %q, want %q", joins, c.joins)
			}
		})
	}
	for name, c := range map[string]struct {
		section, services, bucket string
		keeps                     bool
	}{
		"default name":      {"{name: a, node: n, view: {nodes: [x, y, z]}}", site, "kasoku-a", false},
		"another name":      {"{name: a, node: z, view: {nodes: [x, y, z], directory: d, bucket: b}}", site, "b", true},
		"beside a table":    {"{name: a, node: z, view: {nodes: [v, w, x, y, z], directory: d, bucket: b}}", clustered + second, "b", true},
		"witness":           {"{name: a, node: z, witness: true, view: {nodes: [x, y, z], directory: d}}", "", "kasoku-a", true},
		"deployment":        {"{name: a, nats: \"nats://127.0.0.1:4222\", view: {replicas: 5}}", site, "kasoku-a", false},
		"a table":           {"{name: a}", clustered, "", false},
		"ignored directory": {"{name: a, node: n, view: {nodes: [x, y, z], directory: d}}", site, "kasoku-a", false},
	} {
		got, err := parseCluster(t, c.section, c.services)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, keeps := got.ViewBucket(), got.Cluster.KeepsView(); b != c.bucket || keeps != c.keeps || (got.ViewService() == nil) == (b == "") {
			t.Errorf("%s: got the bucket %q, a copy: %v, the service %v", name, b, keeps, got.ViewService())
		}
	}
	if alone, err := parseCluster(t, "{name: a}", clustered); err != nil {
		t.Fatal(err)
	} else if alone.Cluster = nil; alone.ViewService() != nil || alone.ViewBucket() != "" {
		t.Error("there is a place of the list without a cluster")
	}
}
