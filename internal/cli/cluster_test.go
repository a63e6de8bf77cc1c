package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cluster/protocol"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/testutil/certs"
)

const someCluster = `admin: {listen: 127.0.0.1:0}
cluster: {name: shop, node: a, listen: "127.0.0.1:0"}
services:
  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "http://127.0.0.1:1", region: local, auth: {mode: none}}
`

func parsed(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse("k.yaml", []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestReloadOfCluster tries to change the cluster of a running node.
func TestReloadOfCluster(t *testing.T) {
	_, alone, _ := strings.Cut(someCluster, "cluster:")
	_, alone, _ = strings.Cut(alone, "\n")
	alone = "admin: {listen: 127.0.0.1:0}\n" + alone
	for name, c := range map[string]struct{ before, after, want string }{
		"unchanged":      {someCluster, someCluster, ""},
		"another limit":  {someCluster, strings.Replace(someCluster, "auth:", "limits: {connections: 7}, auth:", 1), ""},
		"no cluster":     {alone, alone, ""},
		"added":          {alone, someCluster, "cluster: it can't be added while this node runs; restart it to join the cluster"},
		"removed":        {someCluster, alone, "cluster: it can't be removed while this node runs; restart it to leave the cluster"},
		"settings":       {someCluster, strings.Replace(someCluster, "node: a", "node: b, lease: 1s", 1), "cluster.node, cluster.lease can't change while this node is in its cluster"},
		"another origin": {someCluster, strings.Replace(someCluster, "127.0.0.1:1\"", "127.0.0.1:2\"", 1), "cluster.view.service can't change"},
	} {
		t.Run(name, func(t *testing.T) {
			ch := &change{node: &Node{cfg: parsed(t, c.before)}, cfg: parsed(t, c.after)}
			err := ch.cluster()
			if c.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if err := (&change{node: &Node{}, cfg: parsed(t, someCluster)}).cluster(); err != nil {
		t.Errorf("the first configuration is refused: %v", err)
	}

	r := run(t, alone)
	before := r.ServiceAddr("orders")
	if err := r.reload(someCluster); err == nil || !strings.Contains(err.Error(), "cluster: it can't be added") {
		t.Errorf("a running node: got %v", err)
	}
	if got := r.ServiceAddr("orders"); got != before {
		t.Errorf("the refused file has moved the listener to %s", got)
	}
}

func TestClusterMember(t *testing.T) {
	const service = `type: dynamodb, listen: "127.0.0.1:0", origin: "http://127.0.0.1:1", region: local, auth: {mode: none, insecure: true}`
	for name, c := range map[string]struct {
		cluster, dax string
		bound        net.Addr
		want         []string
	}{
		"listen":              {`listen: "127.0.0.1:7400"`, `"10.0.0.9:8111"`, nil, []string{"10.0.0.9:8111"}},
		"chosen port":         {`listen: "127.0.0.1:7400"`, `"127.0.0.1:0"`, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, []string{"127.0.0.1:4711"}},
		"every address":       {`listen: "127.0.0.1:7400", advertise: localhost`, `":8111"`, nil, []string{"localhost:8111"}},
		"every address, open": {`listen: "127.0.0.1:7400"`, `":8111"`, &net.TCPAddr{IP: net.IPv6zero, Port: 8111}, []string{"127.0.0.1:8111"}},
		"advertise":           {`listen: "127.0.0.1:7400"`, `{listen: ":8111", advertise: [10.0.0.9, "[fd00::1]:80"]}`, nil, []string{"10.0.0.9:8111", "[fd00::1]:80"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := parsed(t, "cluster: {name: shop, node: a, zone: z, "+c.cluster+"}\nservices:\n  orders: {"+service+", dax: "+c.dax+"}\n"+
				"  site: {type: http, listen: \"127.0.0.1:0\", origins: [\"http://127.0.0.1:3000\"]}\n")
			got, err := clusterMember(t.Context(), cfg, func(service string) net.Addr {
				if service != "orders" {
					t.Errorf("asked for the address of %s", service)
				}
				return c.bound
			})
			if err != nil {
				t.Fatal(err)
			}
			want := protocol.Member{
				Node: "a", Address: "127.0.0.1:7400", Zone: "z", DAX: map[string][]string{"orders": c.want},
				Services: map[string]string{"orders": serviceDigest(&cfg.Services[0]), "site": serviceDigest(&cfg.Services[1])},
			}
			if name == "every address" {
				want.Address = "localhost:7400"
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestServiceDigest changes a service: its digest depends on the type and on the origins only.
func TestServiceDigest(t *testing.T) {
	digest := func(service string) string {
		t.Helper()
		cfg := parsed(t, "services:\n  s: {listen: \"127.0.0.1:0\", "+service+"}\n")
		return serviceDigest(&cfg.Services[0])
	}
	const orders = `type: dynamodb, origin: "http://127.0.0.1:1", region: local, auth: {mode: none}`
	if digest(orders) != digest(orders+", item_ttl: 1m, limits: {connections: 7}") {
		t.Error("settings of one node change the digest")
	}
	seen := map[string]string{}
	for _, service := range []string{
		orders,
		strings.Replace(orders, "1:1", "1:2", 1),
		strings.Replace(orders, "local", "eu-west-1", 1),
		`type: http, origins: ["http://127.0.0.1:1"]`,
		`type: http, origins: ["http://127.0.0.1:1", "http://127.0.0.1:2"]`,
		`type: couchdb, nodes: ["http://127.0.0.1:1"]`,
		`type: memcached, servers: ["127.0.0.1:1"], locations: [{path: /, key: k}]`,
	} {
		d := digest(service)
		if other, taken := seen[d]; taken || len(d) != 16 {
			t.Errorf("%s has the digest %q, as %s", service, d, other)
		}
		seen[d] = service
	}
}

func TestClusterTLS(t *testing.T) {
	dir := t.TempDir()
	for serial, name := range map[int64]string{1: "own", 2: "other"} {
		cert, key := certs.SelfSigned(t, serial)
		for file, content := range map[string][]byte{name + ".pem": cert, name + ".key": key} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	node := func(cert, ca string) *tls.Config {
		t.Helper()
		_, services, _ := strings.Cut(someCluster, "services:")
		text := fmt.Sprintf("cluster: {name: shop, tls: {cert: %s.pem, key: %[1]s.key, ca: %s.pem}}\nservices:", cert, ca) + services
		cfg, err := config.Parse(filepath.Join(dir, "k.yaml"), []byte(text), os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		secure, err := clusterTLS(cfg)
		if err != nil {
			t.Fatal(err)
		}
		return secure
	}
	without := node("own", "own")
	without.Certificates = nil
	for name, c := range map[string]struct {
		client *tls.Config
		want   string // part of an error of either side
	}{
		"member":                        {node("own", "own"), ""},
		"no certificate":                {without, "client didn't provide a certificate"},
		"certificate of another":        {node("other", "own"), "unknown authority"},
		"client with another authority": {node("own", "other"), "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := tls.Listen("tcp", "127.0.0.1:0", node("own", "own"))
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			accepted := make(chan error, 1)
			go func() {
				conn, err := ln.Accept()
				if err == nil {
					err = conn.(*tls.Conn).HandshakeContext(t.Context())
					conn.Close()
				}
				accepted <- err
			}()
			client := c.client.Clone()
			client.ServerName = "localhost"
			conn, err := tls.Dial("tcp", ln.Addr().String(), client)
			if err == nil {
				defer conn.Close()
			}
			both := fmt.Sprint(err, <-accepted)
			if c.want == "" && both != "<nil> <nil>" || !strings.Contains(both, c.want) {
				t.Errorf("got %s, want %q", both, c.want)
			}
		})
	}
	if secure, err := clusterTLS(parsed(t, someCluster)); secure != nil || err != nil {
		t.Errorf("without TLS: got %v, %v", secure, err)
	}
}

// fakeCluster is a cluster of the node a with one other member, b.
type fakeCluster struct{ evicted []string }

func (f *fakeCluster) Status() admin.ClusterStatus {
	return admin.ClusterStatus{
		Name: "shop", Node: "a", Instance: "a1", Epoch: 3, Rev: 5, State: admin.NodeServing, LeaseMS: 900,
		Members: []admin.ClusterMember{
			{Node: "a", Address: "10.0.0.1:7400", State: admin.NodeServing, Self: true, Instance: "a1", Joined: time.Unix(0, 0)},
			{Node: "b", Address: "10.0.0.2:7400", Zone: "z", State: admin.NodeJoining, Instance: "b1", AckMS: 1.5, SilentMS: 20, Joined: time.Unix(60, 0)},
		},
		Away: []admin.AwayNode{{Node: "c", Since: time.Now(), Reason: "did not answer"}},
	}
}

func (f *fakeCluster) Evict(_ context.Context, node string) error {
	if node != "b" {
		return fmt.Errorf("%w: there is no other member %s", admin.ErrInput, node)
	}
	f.evicted = append(f.evicted, node)
	return nil
}

// Warm takes over as many answers as the limit allows, one by one.
func (f *fakeCluster) Warm(_ context.Context, r *admin.WarmRequest, progress func(admin.WarmProgress)) error {
	if r.Peer != "b" {
		return fmt.Errorf("%w: there is no other member %s", admin.ErrInput, r.Peer)
	}
	for i := range r.Keys {
		progress(admin.WarmProgress{Filled: uint64(i + 1), Present: 2, Bytes: 10 * uint64(i+1), Part: float64(i+1) / float64(r.Keys)})
	}
	if r.Keys == 13 {
		return errors.New("b does not reply")
	}
	return nil
}

func (f *fakeCluster) Unreached(error) bool { return false }

// TestClusterCommand runs the command with a node in a cluster, and with one that is alone.
func TestClusterCommand(t *testing.T) {
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "http://127.0.0.1:1", region: local, auth: {mode: none}}`+"\n")
	f := func(wantCode int, want string, args ...string) {
		t.Helper()
		code, out, errs := command(t, append(args, "--admin", "http://"+r.AdminAddr().String()))
		if code != wantCode || !strings.Contains(out+errs, want) {
			t.Errorf("%q: %d %q %q; want %d and %q", args, code, out, errs, wantCode, want)
		}
	}
	f(codeInput, "with status 404: this Kasoku is in no cluster", "cluster")
	f(codeInput, "with status 404: this Kasoku is in no cluster", "cluster", "evict", "b")

	fake := &fakeCluster{}
	r.mu.Lock()
	r.cluster = fake
	r.mu.Unlock()
	const table = `cluster shop, node a: serving, epoch 3, revision 5
NODE      ADDRESS        ZONE  STATE    LEASE  ACK     SILENT  JOINED
a (this)  10.0.0.1:7400  -     serving  900ms  -       -       1970-01-01 00:00:00
b         10.0.0.2:7400  z     joining  -      1.50ms  20ms    1970-01-01 00:01:00

AWAY  FOR  REASON
c     0s   did not answer
`
	f(codeOK, table, "cluster")
	f(codeOK, table, "cluster", "members")
	f(codeOK, `"state":"serving","lease_ms":900,"members":[{"node":"a",`, "cluster", "--json")
	f(codeOK, "b is no longer a member\n", "cluster", "evict", "b")
	f(codeOK, `{"evicted":"b"}`, "cluster", "evict", "b", "--json")
	f(codeInput, "with status 400: bad request: there is no other member x", "cluster", "evict", "x")
	f(codeUsage, "give the name of a node", "cluster", "evict", "")
	f(codeUsage, "give the name of a node", "cluster", "evict")
	f(codeUsage, "unexpected argument brew", "cluster", "brew")
	if want := []string{"b", "b"}; !slices.Equal(fake.evicted, want) {
		t.Errorf("evicted %q, want %q", fake.evicted, want)
	}

	f(codeOK, "GetItem t: miss\n  node       a  serving in cluster shop\n  operation  GetItem\n", "explain", "GetItem", "t", "id=1")
	f(codeOK, "orders: dropped everything of service orders, on a, b\norders: not on c: a node that is away drops", "purge", "--service", "orders")
	if page := r.page("/readyz"); !strings.Contains(page, "node a of cluster shop: serving\n") {
		t.Errorf("/readyz is %s", page)
	}
}

// TestPurgePrintsNodes answers a purge as a node of a cluster would.
func TestPurgePrintsNodes(t *testing.T) {
	for _, c := range []struct {
		result admin.PurgeResult
		want   string
	}{
		{admin.PurgeResult{Dropped: "everything"}, "orders: dropped everything\n"},
		{admin.PurgeResult{Dropped: "everything", Nodes: []string{"a", "b"}}, "orders: dropped everything, on a, b\n"},
		{admin.PurgeResult{Dropped: "everything", Nodes: []string{"a"}, Away: []string{"b", "c"}},
			"orders: dropped everything, on a\norders: not on b, c: a node that is away drops its whole cache before it serves again\n"},
	} {
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			json.NewEncoder(w).Encode(c.result)
		}))
		code, out, errs := command(t, []string{"purge", "--admin", api.URL, "--service", "orders"})
		if code != codeOK || out != c.want {
			t.Errorf("%d %q %q; want %q", code, out, errs, c.want)
		}
		_, out, _ = command(t, []string{"purge", "--admin", api.URL, "--service", "orders", "--json"})
		var got admin.PurgeResult
		if err := json.Unmarshal([]byte(out), &got); err != nil || !reflect.DeepEqual(got, c.result) {
			t.Errorf("got %s, want %v", out, c.result)
		}
		api.Close()
	}
}
