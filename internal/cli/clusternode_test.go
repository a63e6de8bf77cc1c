package cli

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// inCluster starts a node of a cluster in this process, before an origin, and returns it. join
// has the addresses of other nodes.
func inCluster(t *testing.T, origin, node string, join ...string) *Node {
	t.Helper()
	return nodeWith(t, origin, node, fmt.Sprintf(`listen: "127.0.0.1:0", join: [%s]`, strings.Trim(fmt.Sprintf("%q", join), "[]")))
}

// nodeWith is inCluster with the keys of the section cluster that describe the transport.
func nodeWith(t *testing.T, origin, node, keys string) *Node {
	t.Helper()
	text := fmt.Sprintf(`admin: {listen: 127.0.0.1:0}
cluster: {name: shop, node: %s, %s}
services:
  orders: {type: dynamodb, listen: "127.0.0.1:0", dax: "127.0.0.1:0", origin: %q, region: local, auth: {mode: none}}
`, node, keys, origin)
	return started(t, text)
}

// started starts a node with a configuration, until the test ends.
func started(t *testing.T, text string) *Node {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	cfg, err := config.Parse(file, []byte(text), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	n, err := start(cfg, file, os.Stdout, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return n
}

// embeddedOrigin starts a node whose embedded store is the origin of others, and returns its
// URL.
func embeddedOrigin(t *testing.T) string {
	t.Helper()
	text := fmt.Sprintf(`admin: {listen: 127.0.0.1:0}
services:
  store: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:%s", region: local, auth: {mode: none}, item_ttl: 0s, query_ttl: 0s}
`, t.TempDir())
	n, err := start(parsed(t, text), "k.yaml", os.Stdout, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(t.Context()) })
	t.Setenv("AWS_ACCESS_KEY_ID", "origin")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "origin")
	return "http://" + n.ServiceAddr("store").String()
}

// ask sends a DynamoDB request to a node's service and returns the answer and its Cache-Status.
func ask(t *testing.T, n *Node, operation, body string) (status int, answer, cacheStatus string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.ServiceAddr("orders").String()+"/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header.Get("Cache-Status")
}

// serving waits until nodes are members that serve, of a cluster of so many.
func serving(t *testing.T, nodes ...*Node) {
	t.Helper()
	for _, n := range nodes {
		await.Until(t, func() bool {
			s := n.member.Status()
			return s.State == admin.NodeServing && len(s.Members) == len(nodes)
		})
	}
}

// TestClusterOfProcesses writes through one node and reads through the other one.
func TestClusterOfProcesses(t *testing.T) {
	origin := embeddedOrigin(t)
	a := inCluster(t, origin, "a")
	b := inCluster(t, origin, "b", a.member.transport.Addr().String())
	serving(t, a, b)
	const table = `{"TableName":"items","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` +
		`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`
	if status, answer, _ := ask(t, a, "CreateTable", table); status != 200 {
		t.Fatal(answer)
	}
	await.Until(t, func() bool {
		_, answer, _ := ask(t, b, "DescribeTable", `{"TableName":"items"}`)
		return strings.Contains(answer, "ACTIVE")
	})
	for i := range 20 {
		writer, reader := a, b
		if i%2 == 1 {
			writer, reader = b, a
		}
		item := fmt.Sprintf(`{"v":{"N":"%d"},"id":{"S":"1"}}`, i)
		if status, answer, _ := ask(t, writer, "PutItem", `{"TableName":"items","Item":`+item+`}`); status != 200 {
			t.Fatal(answer)
		}
		for range 2 {
			if _, answer, _ := ask(t, reader, "GetItem", `{"TableName":"items","Key":{"id":{"S":"1"}}}`); !strings.Contains(answer, fmt.Sprintf(`{"N":"%d"}`, i)) {
				t.Fatalf("after write %d the other node answers %s", i, answer)
			}
		}
	}
	await.Until(t, func() bool { // the end of a write is not urgent
		_, _, how := ask(t, a, "GetItem", `{"TableName":"items","Key":{"id":{"S":"1"}}}`)
		return strings.Contains(how, "hit")
	})
}

// TestClusterOverNATS uses a NATS deployment in the place of the nodes' own servers.
func TestClusterOverNATS(t *testing.T) {
	deployment, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	deployment.Start()
	t.Cleanup(func() {
		deployment.Shutdown()
		deployment.WaitForShutdown()
	})
	await.Until(t, func() bool { return deployment.Addr() != nil })
	origin := embeddedOrigin(t)
	key := fmt.Sprintf("nats: %q", "nats://"+deployment.Addr().String())
	a, b := nodeWith(t, origin, "a", key), nodeWith(t, origin, "b", key)
	serving(t, a, b)
}

// TestStartWithoutOrigin starts a node whose origin can't be reached: it runs, is not ready,
// accepts requests after a time, and stops at once.
func TestStartWithoutOrigin(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "origin")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "origin")
	n := inCluster(t, "http://127.0.0.1:1", "a")
	resp, err := http.Get("http://" + n.AdminAddr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("/readyz is %d", resp.StatusCode)
	}
	if status, answer, _ := ask(t, n, "ListTables", "{}"); status < 500 {
		t.Errorf("status %d, %s", status, answer)
	}
	begun := time.Now()
	if err := n.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > leaveTimeout {
		t.Errorf("it stops after %s", took)
	}
}

// TestStartInCluster sends a write to each node as soon as its listener is open.
func TestStartInCluster(t *testing.T) {
	origin := embeddedOrigin(t)
	var join []string
	for _, name := range []string{"a", "b", "c"} {
		n := inCluster(t, origin, name, join...)
		join = []string{n.member.transport.Addr().String()}
		table := `{"TableName":"of-` + name + `","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],` +
			`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}]}`
		if status, answer, _ := ask(t, n, "CreateTable", table); status != http.StatusOK {
			t.Errorf("a write through node %s: status %d, %s", name, status, answer)
		}
	}
}

// TestStopInCluster stops one of two nodes: balancers see that it is not ready before it refuses
// connections.
func TestStopInCluster(t *testing.T) {
	origin := embeddedOrigin(t)
	a := inCluster(t, origin, "a")
	b := inCluster(t, origin, "b", a.member.transport.Addr().String())
	serving(t, a, b)
	stopped := make(chan error, 1)
	go func() { stopped <- b.Stop(t.Context()) }()
	await.Until(t, func() bool {
		resp, err := http.Get("http://" + b.AdminAddr().String() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusServiceUnavailable
	})
	http.DefaultClient.CloseIdleConnections()
	if status, answer, _ := ask(t, b, "ListTables", "{}"); status != http.StatusOK {
		t.Errorf("a request over a new connection: status %d, %s", status, answer)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	await.Until(t, func() bool { return len(a.member.Status().Members) == 1 })
	begun := time.Now()
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took >= balancerTime {
		t.Errorf("the last node stops after %s", took)
	}
}
