package memcached

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/memcached.md")

// TestDocs compares the page's tables with the reasons and outcomes, and checks their
// indices.
func TestDocs(t *testing.T) {
	const file = "../../docs/memcached.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| reason | decision | what it means |\n|---|---|---|\n")
	for i, r := range Reasons {
		if int(r.Reason) != i {
			t.Errorf("row %d describes the reason %s", i, r.Name)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.Name, r.Decision, r.Help)
	}
	page := replaceTable(t, file, string(data), "reasons", b.String()+"\n")
	b.Reset()
	b.WriteString("\n| outcome | what it means |\n|---|---|\n")
	for i, o := range Outcomes {
		if int(o.Outcome) != i {
			t.Errorf("row %d describes the outcome %s", i, o.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.Name, o.Help)
	}
	replaceTable(t, file, page, "outcomes", b.String()+"\n")
}

// replaceTable compares the part of a page between two markers with want, and returns the
// page.
func replaceTable(t *testing.T, file, page, name, want string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, "<!-- "+name)
	marker, rest, ok2 := strings.Cut(rest, "-->\n")
	got, after, ok3 := strings.Cut(rest, "<!-- end -->")
	switch {
	case !ok || !ok2 || !ok3:
		t.Fatalf("%s has no place for the %s", file, name)
	case got == want:
	case *rewrite:
		page = before + "<!-- " + name + marker + "-->\n" + want + "<!-- end -->" + after
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date: go test ./internal/memcached -run TestDocs -rewrite\nthe code has\n%s", file, want)
	}
	return page
}
