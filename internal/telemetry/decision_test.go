package telemetry

import (
	"regexp"
	"testing"
)

func TestDecisionsAreComplete(t *testing.T) {
	if len(Decisions) != int(CacheFault)+1 {
		t.Fatalf("%d rows for %d decisions", len(Decisions), CacheFault+1)
	}
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	status := regexp.MustCompile(`^((hit|collapsed|fwd=(miss|vary-miss|stale|partial|request|method|bypass)|fwd-status=304|detail=[a-z-]+)(; |$))+$`)
	seen := map[string]bool{}
	for i, d := range Decisions {
		if int(d.Decision) != i {
			t.Errorf("row %d describes decision %d", i, d.Decision)
		}
		if !name.MatchString(d.Name) || seen[d.Name] {
			t.Errorf("bad or repeated name %q", d.Name)
		}
		seen[d.Name] = true
		if d.Decision != None && !status.MatchString(d.Status) {
			t.Errorf("%s: status %q", d.Name, d.Status)
		}
		if len(d.Help) < 40 || d.Help[len(d.Help)-1] != '.' {
			t.Errorf("%s: help is not a sentence: %q", d.Name, d.Help)
		}
		if d.Decision.String() != d.Name || d.Decision.CacheStatus() != d.Status {
			t.Errorf("%s: methods and table differ", d.Name)
		}
	}
	if Decision(200).String() != "unknown" || Decision(200).CacheStatus() != "" {
		t.Error("a decision outside the table must not panic")
	}
}
