package cli

import (
	"log/slog"
	"os"
	"strings"
	"testing"

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
