package jsonp

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/jsonp.md")

// TestDocs compares the page's table with the reasons.
func TestDocs(t *testing.T) {
	const file = "../../docs/jsonp.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	i := strings.Index(page, "<!-- reasons")
	if i < 0 {
		t.Fatalf("%s has no table", file)
	}
	i += strings.Index(page[i:], "-->\n") + len("-->\n")
	j := i + strings.Index(page[i:], "<!-- end -->")
	var table strings.Builder
	table.WriteString("| `jsonp=` | what it means |\n|---|---|\n")
	for _, r := range Reasons {
		if r.Reason != NoCallback { // it is not reported
			fmt.Fprintf(&table, "| `%s` | %s |\n", r.Name, r.Help)
		}
	}
	if page[i:j] == table.String() {
		return
	}
	if !*rewrite {
		t.Fatalf("%s is out of date: go test ./internal/jsonp -run TestDocs -rewrite", file)
	}
	if err := os.WriteFile(file, []byte(page[:i]+table.String()+page[j:]), 0o644); err != nil {
		t.Fatal(err)
	}
}
