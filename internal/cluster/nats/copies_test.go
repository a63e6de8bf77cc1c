package nats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/await"
)

// TestFounding checks the number of routes at the first start, which the server takes for the
// number of servers that have to agree.
func TestFounding(t *testing.T) {
	for _, c := range []struct {
		listen          string
		addresses, want []string
	}{
		{"127.0.0.1:7", nil, []string{"127.0.0.1:7", "127.0.0.1:7", "127.0.0.1:7"}},
		{":7", []string{"b:1"}, []string{"127.0.0.1:7", "127.0.0.1:7", "b:1"}},
		{"10.0.0.1:7", []string{"a:1", "b:1"}, []string{"10.0.0.1:7", "a:1", "b:1"}},
		{"10.0.0.1:7", []string{"a:1", "b:1", "c:1", "d:1"}, []string{"a:1", "b:1", "c:1"}},
	} {
		e := &embedded{cfg: &Config{Listen: c.listen, Copies: Copies{Nodes: 3}}}
		if got := e.founding(c.addresses); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.addresses, got, c.want)
		}
	}
}

// TestCopies starts three servers that keep copies, of which only one is in Config.Join of the
// others, and one that keeps none.
func TestCopies(t *testing.T) {
	keeps := func(c *Config) {
		c.Copies = Copies{Nodes: 3, Directory: filepath.Join(t.TempDir(), "new", "directory")}
	}
	a := start(t, "a", 0xa, keeps)
	with := func(keep bool) func(*Config) {
		return func(c *Config) {
			joining(a)(c)
			c.Copies.Nodes = 3
			if keep {
				keeps(c)
			}
		}
	}
	b, c, d := start(t, "b", 0xb, with(true)), start(t, "c", 0xc, with(true)), start(t, "d", 0xd, with(false))
	reaches(t, a, b, c, d)
	for _, n := range []*node{a, b, c} {
		if n.server.Name() != n.name || !n.server.JetStreamEnabled() {
			t.Errorf("server %s of node %s, with JetStream: %v", n.server.Name(), n.name, n.server.JetStreamEnabled())
		}
		if err := n.CopyState("none"); err == nil {
			t.Errorf("node %s has a current copy of a stream that does not exist", n.name)
		}
	}
	if err := d.CopyState("none"); err != nil || d.server.JetStreamEnabled() || !strings.HasPrefix(d.server.Name(), "d-") {
		t.Errorf("a node that keeps no copies: %v, server %s, with JetStream: %v", err, d.server.Name(), d.server.JetStreamEnabled())
	}
	await.Until(t, func() bool {
		return len(a.server.JetStreamClusterPeers())+len(b.server.JetStreamClusterPeers())+len(c.server.JetStreamClusterPeers()) == 3
	})
	if alone := start(t, "alone", 1, nil); alone.server.JetStreamEnabled() || alone.server.SystemAccount() != nil {
		t.Error("a server without copies has JetStream or a system account")
	}
}

// TestCopiesMistakes starts nodes whose directory can't be used.
func TestCopiesMistakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{file, filepath.Join(file, "below")} {
		transport, err := Start(Config{Cluster: "test", Name: "n", Listen: "127.0.0.1:0", Copies: Copies{Nodes: 3, Directory: directory}})
		if err == nil {
			transport.Close()
			t.Errorf("%s was accepted", directory)
			continue
		}
		if !strings.Contains(err.Error(), file) {
			t.Errorf("got %v", err)
		}
	}
}
