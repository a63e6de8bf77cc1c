package edge

import (
	"os"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestMetricsAreDocumented compares the manual's list with the exported series.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/http-reference.md")
	if err != nil {
		t.Fatal(err)
	}
	m := telemetry.NewRegistry()
	start(t, Config{Handler: &echo{}, Metrics: m})
	families := m.Families()
	if len(families) == 0 {
		t.Fatal("no series")
	}
	for _, f := range families {
		if !strings.Contains(string(page), "`"+f.Name+"`") && !strings.Contains(string(page), "`"+f.Name+"{") {
			t.Errorf("docs/http-reference.md does not have %s", f.Name)
		}
	}
	if n := strings.Count(string(page), "`kasoku_edge_"); n != len(families) {
		t.Errorf("docs/http-reference.md has %d series, the server exports %d", n, len(families))
	}
}
