package policy

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

var rewrite = flag.Bool("rewrite", false, "write the table of docs/http-reference.md")

// TestDocs compares the page's tables with the reasons.
func TestDocs(t *testing.T) {
	const file = "../../../docs/http-reference.md"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "<!-- reasons")
	marker, rest, ok2 := strings.Cut(rest, "-->\n")
	got, after, ok3 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s has no place for the reasons", file)
	}
	want := reasonTables()
	if got != want && !*rewrite {
		t.Errorf("%s is out of date: go test ./internal/httpcache/policy -run TestDocs -rewrite\nthe code has\n%s", file, want)
	}
	if *rewrite {
		page := before + "<!-- reasons" + marker + "-->\n" + want + "<!-- end -->" + after
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func reasonTables() string {
	var b strings.Builder
	b.WriteString("\nHow a request was answered:\n\n| reason | Cache-Status | decision | what it means |\n|---|---|---|---|\n")
	storing := false
	for _, r := range Reasons {
		if r.Decision == telemetry.None {
			if !storing {
				b.WriteString("\nWhether the origin's answer was stored, or why not:\n\n| reason | Cache-Status | what it means |\n|---|---|---|\n")
			}
			storing = true
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, code(r.Status), r.Help)
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", r.Name, code(r.Status), r.Decision, r.Help)
	}
	b.WriteByte('\n')
	return b.String()
}

func code(s string) string {
	if s == "" {
		return "-"
	}
	return "`" + s + "`"
}
