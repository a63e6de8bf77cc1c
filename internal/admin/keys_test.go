package admin

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A page has a line for each table with throttled requests.
func TestThrottledTables(t *testing.T) {
	o, _ := example()
	if page := string(o.Text()); strings.Contains(page, "THROTTLED") {
		t.Errorf("without any: %s", page)
	}
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.Services[0].Throttled = func() []ThrottledTable {
		return []ThrottledTable{{"users", 212, "TableReadKeyRangeThroughputExceeded", last}, {"", 1, "ThrottlingException", last}}
	}
	lines := strings.Split(string(o.Text()), "\n")
	for _, want := range []string{
		"THROTTLED  SERVICE  IN 5 MIN  LAST                 MOST FREQUENT REASON",
		"users      orders   212       2026-01-02 03:04:05  TableReadKeyRangeThroughputExceeded",
		"-          orders   1         2026-01-02 03:04:05  ThrottlingException",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the page lacks %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	if got := o.JSON().Services; len(got[0].Throttled) != 2 || got[1].Throttled != nil {
		t.Errorf("got %v and %v", got[0].Throttled, got[1].Throttled)
	}
}
