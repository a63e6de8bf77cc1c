package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/testutil/await"
)

// siteNode starts a node of the cluster site before an HTTP origin, or a witness if origin is "".
func siteNode(t *testing.T, origin, node, keys string) *Node {
	t.Helper()
	text := fmt.Sprintf("admin: {listen: 127.0.0.1:0}\ncluster: {name: site, node: %s, witness: %v, %s}\n", node, origin == "", keys)
	if origin != "" {
		text += fmt.Sprintf("services: {site: {type: http, listen: \"127.0.0.1:0\", origins: [%q]}}\n", origin)
	}
	return started(t, text)
}

// numberedSite is an origin whose answers are numbered.
func numberedSite(t *testing.T) string {
	t.Helper()
	var n atomic.Uint64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		fmt.Fprint(w, n.Add(1))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// get returns the body of the answer to a request for a page through a node.
func get(t *testing.T, n *Node, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + n.ServiceAddr("site").String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// adminGet returns the status and the body of a request to a node's admin API.
func adminGet(t *testing.T, n *Node, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + n.AdminAddr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// unusedAddress returns an address of loopback whose port is not in use, and not one that the
// system gives to connections.
func unusedAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000)))
		if err == nil {
			defer func() { _ = l.Close() }()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// purgeWhileCached purges a page that both nodes serve from memory through one of them, and checks
// that the other one has the new page when the purge is answered.
func purgeWhileCached(t *testing.T, through, other *Node) {
	t.Helper()
	for _, n := range []*Node{through, other} {
		await.Until(t, func() bool {
			page := get(t, n, "/page")
			return get(t, n, "/page") == page
		})
	}
	old := get(t, other, "/page")
	resp, err := http.Post("http://"+through.AdminAddr().String()+"/api/v1/purge", "application/json", strings.NewReader(`{"service":"site"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"b"`) {
		t.Fatalf("the purge was answered with %s: %s, %v", resp.Status, answer, err)
	}
	if page := get(t, other, "/page"); page == old {
		t.Errorf("the other node serves page %s, which was purged", page)
	}
}

// TestBucketCluster runs two nodes and a witness before a web site. Their servers keep the list of
// members.
func TestBucketCluster(t *testing.T) {
	origin := numberedSite(t)
	var addresses []string
	for range 3 {
		addresses = append(addresses, unusedAddress(t))
	}
	nodes := map[string]*Node{}
	run := func(name string, i int, origin string) {
		t.Helper()
		nodes[name] = siteNode(t, origin, name,
			fmt.Sprintf(`listen: %q, join: ["%s"], view: {nodes: [a, b, w], directory: view}`, addresses[i], strings.Join(addresses, `", "`)))
	}
	run("a", 0, origin)
	if status, text := adminGet(t, nodes["a"], "/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("the first of three nodes alone is ready: %s", text)
	}
	run("w", 2, "")
	run("b", 1, origin)
	a, b, w := nodes["a"], nodes["b"], nodes["w"]
	serving(t, a, b)
	purgeWhileCached(t, a, b)
	await.Until(t, func() bool {
		status, text := adminGet(t, w, "/readyz")
		return status == http.StatusOK && text == "ready\nnode w of cluster site: witness\n"
	})
	await.Until(t, func() bool { return len(w.witness.Status().Members) == 2 })
	if s := w.cluster.Status(); s.State != admin.NodeWitness || s.Members[0].State != admin.NodeServing {
		t.Errorf("the witness has the status %+v", s)
	}
	if err := w.cluster.Warm(t.Context(), &admin.WarmRequest{Service: "site", Peer: "a"}, nil); !errors.Is(err, admin.ErrInput) {
		t.Errorf("warm: got %v", err)
	}
	if err := w.cluster.Evict(t.Context(), "a"); !errors.Is(err, admin.ErrInput) {
		t.Errorf("a witness has taken a node out: %v", err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Two of three keep the list, and each of the others can still leave and be missed.
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, "/page"); got == "" {
		t.Error("no answer")
	}
}

// TestBucketInDeployment runs two nodes whose list of members is in a NATS deployment.
func TestBucketInDeployment(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	await.Until(t, func() bool { return s.Addr() != nil })
	origin := numberedSite(t)
	keys := fmt.Sprintf("nats: %q, view: {replicas: 1}", "nats://"+s.Addr().String())
	a, b := siteNode(t, origin, "a", keys), siteNode(t, origin, "b", keys)
	serving(t, a, b)
	purgeWhileCached(t, a, b)
}
