package cli

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/kasoku/kasoku/internal/telemetry"
	"github.com/kasoku/kasoku/internal/testutil/memcachedtest"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/observability.md")

// TestDocsObservability compares the page's tables with the code.
func TestDocsObservability(t *testing.T) {
	const file = "../../docs/observability.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, section := range []struct{ marker, table string }{
		{"<!-- decisions", decisionsTable()},
		{"<!-- fields", fieldsTable()},
		{"<!-- metrics", metricsTable(t)},
	} {
		i := strings.Index(page, section.marker)
		if i < 0 {
			t.Fatalf("%s has no %s", file, section.marker)
		}
		i += strings.Index(page[i:], "-->\n") + len("-->\n")
		j := i + strings.Index(page[i:], "<!-- end -->")
		if page[i:j] != section.table && !*rewrite {
			t.Errorf("%s is out of date at %q: go test ./internal/cli -run TestDocs -rewrite\nthe code has\n%s", file, section.marker, section.table)
		}
		page = page[:i] + section.table + page[j:]
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func decisionsTable() string {
	var b strings.Builder
	b.WriteString("| decision | Cache-Status | what it means |\n|---|---|---|\n")
	for _, d := range telemetry.Decisions {
		status := "-"
		if d.Status != "" {
			status = "`" + d.Status + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.Name, status, d.Help)
	}
	return b.String()
}

func fieldsTable() string {
	var b strings.Builder
	b.WriteString("| field | what it holds |\n|---|---|\n")
	for _, f := range telemetry.Fields {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Name, f.Help)
	}
	return b.String()
}

// runAll serves one service of each type and sends each a request.
func runAll(t *testing.T) *running {
	mc := memcachedtest.Start(t, true)
	mc.Set("k", "{}", 0, 0)
	r := run(t, "cache: {disk: {path: "+t.TempDir()+", size: 16MiB}}\ncluster: {name: docs, node: a, listen: \"127.0.0.1:0\"}\n"+head+daxOrders(t.TempDir(), "")+`
  site: {type: http, listen: 127.0.0.1:0, origins: ["%s"], jsonp: {}}
  secure: {type: http, listen: 127.0.0.1:0, origins: ["%s"], tls: {`+certFiles(t)+`}}
  relax:
    {type: couchdb, listen: 127.0.0.1:0, nodes: ["%s", "http://127.0.0.1:9"], follow_changes: true, replicate: {databases: [d], direction: both}}
  counts:
    {type: memcached, listen: 127.0.0.1:0, servers: ["`+mc.Address()+`"], locations: [{path: /count, key: k, content_type: application/json, jsonp: {}}]}
`)
	r.get("orders")
	r.dax("orders").nodes()
	for _, url := range []string{r.ServiceAddr("site").String() + "/?callback=f", r.ServiceAddr("counts").String() + "/count?callback=f"} {
		resp, err := http.Get("http://" + url)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	r.settle("orders") // a table has series once a request is counted
	changes := r.tables.Changes("orders")
	changes.Invalidated("users", "purge", 1)
	changes.Evicted("users")
	return r
}

// families returns the metrics of runAll and of a node with an embedded store, which can be in no
// cluster.
func families(t *testing.T) []telemetry.FamilyInfo {
	all := runAll(t).registry.Families()
	for _, f := range storeNode(t, memoryStore).registry.Families() {
		if !slices.ContainsFunc(all, func(o telemetry.FamilyInfo) bool { return o.Name == f.Name }) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b telemetry.FamilyInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func metricsTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families(t) {
		labels := "-"
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, labels, f.Help)
	}
	return b.String()
}

// TestDocsCommands looks for every command and flag in docs/cli.md.
func TestDocsCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Children {
		_, section, found := strings.Cut(string(page), "\n## "+command.Name+"\n")
		if !found {
			t.Errorf("docs/cli.md has no section %q", command.Name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for _, f := range command.Flags {
			name := "--" + f.Name
			if f.Name == "config" {
				name = "-c"
			}
			if f.Name != "help" && !strings.Contains(section, name) {
				t.Errorf("docs/cli.md does not describe %s %s", command.Name, name)
			}
		}
	}
}

// TestHelpOfMetrics checks that each help text is a sentence.
func TestHelpOfMetrics(t *testing.T) {
	for _, f := range families(t) {
		if !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: help is not a sentence: %q", f.Name, f.Help)
		}
		if strings.HasSuffix(f.Name, "_total") != (f.Type == "counter") {
			t.Errorf("%s is a %s", f.Name, f.Type)
		}
	}
}

var metricName = regexp.MustCompile(`\bkasoku_[a-z0-9_]+[a-z0-9]`)

// TestDocsNameMetrics checks that each metric named in a page exists, or is the beginning of
// the names of several.
func TestDocsNameMetrics(t *testing.T) {
	var names []string
	all := families(t)
	for _, f := range all {
		names = append(names, f.Name)
	}
	for page, text := range pages(t) {
		for _, name := range metricName.FindAllString(text, -1) {
			for _, part := range []string{"_bucket", "_count", "_sum"} {
				if i := slices.Index(names, strings.TrimSuffix(name, part)); i >= 0 && all[i].Type == "histogram" {
					name = names[i]
				}
			}
			if !slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, name) }) {
				t.Errorf("%s names %s, and there is no such metric", page, name)
			}
		}
	}
}
