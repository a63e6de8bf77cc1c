package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// portOf matches the listeners' addresses, which tests replace because the ports may be in use.
var portOf = regexp.MustCompile(`((?:listen|dax): 127\.0\.0\.1):\d+`)

// Every example is valid, and runs.
func TestExamplesRun(t *testing.T) {
	t.Setenv("ORDERS_SECRET", "s1")
	t.Setenv("REPORTS_SECRET", "s2")
	t.Setenv("SHOP_SECRET", "s4")
	t.Setenv("COUCH_PASSWORD", "s3")
	t.Setenv("AWS_ACCESS_KEY_ID", "local")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "local")
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cfg, err := load(file, &Environment{Lookup: os.LookupEnv})
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Cluster != nil {
				return // TestClusterExamples
			}
			text = portOf.ReplaceAll(text, []byte("$1:0"))
			if !strings.Contains(string(text), "admin:") {
				text = append([]byte("admin: {listen: 127.0.0.1:0}\n"), text...)
			}
			runOnce(t, text)
		})
	}
}

// TestClusterExamples reads the examples of clusters as each of their nodes, which differ in
// their names and addresses only.
func TestClusterExamples(t *testing.T) {
	for file, port := range map[string]string{"cluster.yaml": "800", "cluster-http.yaml": "808"} {
		t.Run(file, func(t *testing.T) { clusterExample(t, "../../examples/"+file, port) })
	}
}

// clusterExample starts no node. The services listen on ports that begin with the digits of port.
func clusterExample(t *testing.T, file, port string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^# +NODE=(\w+) N=(\d) kasoku serve -c (\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(commands) != 3 {
		t.Fatalf("got %d commands, want 3", len(commands))
	}
	var joins, addresses, copies []string
	for _, m := range commands {
		t.Setenv("NODE", m[1])
		t.Setenv("N", m[2])
		cfg, err := load("../../"+m[3], &Environment{Lookup: os.LookupEnv})
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Cluster.NodeName(); got != m[1] {
			t.Errorf("the node is %s, want %s", got, m[1])
		}
		joins = cfg.Cluster.Joins()
		addresses = append(addresses, cfg.Cluster.Advertised())
		if string(cfg.Admin.Listen) != "127.0.0.1:909"+m[2] {
			t.Errorf("the admin API of node %s listens on %s", m[1], cfg.Admin.Listen)
		}
		for _, s := range cfg.Services {
			if want := "127.0.0.1:" + port + m[2]; string(s.Listen) != want {
				t.Errorf("node %s listens on %s", m[1], s.Listen)
			}
		}
		if cfg.Cluster.Witness != (len(cfg.Services) == 0) {
			t.Errorf("node %s has %d services", m[1], len(cfg.Services))
		}
		if cfg.Cluster.KeepsView() {
			copies = append(copies, m[1])
		}
		if want := cfg.Cluster.View.Nodes; m[1] == commands[2][1] && !slices.Equal(copies, want) {
			t.Errorf("the nodes %q keep copies, want %q", copies, want)
		}
	}
	if !slices.Equal(joins, addresses) {
		t.Errorf("nodes join %q, and their addresses are %q", joins, addresses)
	}
}

// runOnce starts a configuration and stops it again.
func runOnce(t *testing.T, text []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kasoku.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := load(file, &Environment{Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	n, err := start(cfg, file, os.Stdout, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Every configuration in the documentation is valid. If it shows only common settings, the test
// adds a service.
func TestConfigurationsInDocs(t *testing.T) {
	t.Setenv("APP_SECRET", "s")
	t.Setenv("COUCH_PASSWORD", "s")
	t.Setenv("KASOKU_KEYS_TOKEN", "s")
	const some = "services: {site: {type: http, listen: 127.0.0.1:8088, origins: [\"http://127.0.0.1:3000\"]}}\n"
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	found := 0
	for page, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			found++
			if !strings.Contains(m[1], "services:") {
				m[1] += some
			}
			file := filepath.Join(t.TempDir(), "kasoku.yaml")
			if err := os.WriteFile(file, []byte(m[1]), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := load(file, &Environment{Lookup: os.LookupEnv}); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if found < 8 {
		t.Fatalf("got only %d configurations", found)
	}
}

// The example of limits has the default values.
func TestLimitsAreDefaults(t *testing.T) {
	c, err := load("../../examples/limits.yaml", &Environment{Lookup: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"services":{"orders":{"type":"dynamodb","listen":"127.0.0.1:8000","limits":{"connections_per_client":4096,"body_bytes":"16MiB","requests_per_second":2000},` +
		`"origin":"http://127.0.0.1:8001","region":"us-east-1","auth":{"mode":"none"}}}}`
	if got := string(c.Changed()); got != want {
		t.Errorf("it changes\n%s\nwant\n%s", got, want)
	}
}
