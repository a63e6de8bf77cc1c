package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/config"
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

// A configuration with a cluster must not run without one.
func TestStartWithCluster(t *testing.T) {
	n, err := start(parsed(t, someCluster), "k.yaml", os.Stdout, slog.New(slog.DiscardHandler))
	if err == nil {
		n.Stop(t.Context())
		t.Fatal("it starts without its cluster")
	}
	if want := "cluster shop: node a can't join"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
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
