package cli

import (
	"encoding/json"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestRules checks that the alerting rules use metrics which exist, and that docs/operations.md has
// a section for each of them and for no other.
func TestRules(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(readFile(t, "../../packaging/prometheus/kasoku.rules.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	var sections, alerts []string
	for _, m := range regexp.MustCompile(`(?m)^### (Kasoku\w+)$`).FindAllStringSubmatch(string(readFile(t, "../../docs/operations.md")), -1) {
		sections = append(sections, m[1])
	}
	all := families(t)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			checkMetrics(t, r.Alert, r.Expr, all)
			if want := "https://github.com/kasoku/kasoku/blob/main/docs/operations.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s has the runbook %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.Annotations["summary"] == "" || r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning" {
				t.Errorf("%s lacks a summary, or its severity is %q", r.Alert, r.Labels["severity"])
			}
		}
	}
	if len(alerts) == 0 || !slices.Equal(alerts, sections) {
		t.Errorf("the rules are %q, and the sections of docs/operations.md %q", alerts, sections)
	}
}

// TestGrafana checks that the dashboard uses metrics which exist, and that its panels are described
// and don't overlap.
func TestGrafana(t *testing.T) {
	var board struct {
		Templating struct {
			List []struct{ Name, Definition string }
		}
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ H, W, X, Y int }
			Targets                  []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(readFile(t, "../../packaging/grafana/kasoku.json"), &board); err != nil {
		t.Fatal(err)
	}
	all := families(t)
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			checkMetrics(t, "variable "+v.Name, strings.TrimSuffix(strings.TrimPrefix(v.Definition, "label_values("), ")"), all)
		}
	}
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && (p.Description == "" || len(p.Targets) == 0) {
			t.Errorf("panel %d %q lacks an id of its own, a title, a description or queries", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q overlaps %q, or the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, q := range p.Targets {
			if q.LegendFormat == "" {
				t.Errorf("panel %q has a query without a legend", p.Title)
			}
			checkMetrics(t, p.Title, q.Expr, all)
		}
	}
	if len(board.Panels) < 20 {
		t.Errorf("there are only %d panels", len(board.Panels))
	}
}

var (
	metricOf = regexp.MustCompile(`\b(kasoku_\w+)(\{[^}]*\})?`)
	labelOf  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
	valueOf  = regexp.MustCompile(`(\w+)="([^"]+)"`)
	byOf     = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// checkMetrics checks that the metrics and labels of an expression exist. A label that series are
// grouped by must be one of at least one of its metrics.
func checkMetrics(t *testing.T, name, expr string, all []telemetry.FamilyInfo) {
	t.Helper()
	known := []string{"instance", "job", "le"}
	for _, m := range metricOf.FindAllStringSubmatch(expr, -1) {
		i := slices.IndexFunc(all, func(f telemetry.FamilyInfo) bool {
			return f.Name == m[1] || f.Type == "histogram" && f.Name+"_bucket" == m[1]
		})
		if i < 0 {
			t.Errorf("%s: there is no metric %s", name, m[1])
			continue
		}
		known = append(known, all[i].Labels...)
		for _, l := range labelOf.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "instance" && l[1] != "job" && !slices.Contains(all[i].Labels, l[1]) {
				t.Errorf("%s: metric %s has no label %s", name, m[1], l[1])
			}
		}
	}
	for _, m := range byOf.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ", ") {
			if !slices.Contains(known, l) {
				t.Errorf("%s: no metric in it has the label %s", name, l)
			}
		}
	}
}

// TestMonitoringValues checks that label values in the rules and in the dashboard exist.
func TestMonitoringValues(t *testing.T) {
	text := string(readFile(t, "../../packaging/prometheus/kasoku.rules.yaml"))
	text += strings.ReplaceAll(string(readFile(t, "../../packaging/grafana/kasoku.json")), `\"`, `"`)
	w := httptest.NewRecorder()
	runAll(t).registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	series := w.Body.String()
	found := map[string]bool{}
	for _, m := range metricOf.FindAllStringSubmatch(text, -1) {
		for _, l := range valueOf.FindAllStringSubmatch(m[2], -1) {
			label, value := l[1], l[2]
			if label == "job" {
				continue // it is Prometheus's
			}
			found[label] = true
			if exists := regexp.MustCompile(`(?m)^` + m[1] + `\{[^}]*\b` + label + `="` + regexp.QuoteMeta(value) + `"`); !exists.MatchString(series) {
				t.Errorf("there is no series of %s with %s=%q", m[1], label, value)
			}
		}
	}
	names := make([]string, 0, len(telemetry.Decisions))
	for _, d := range telemetry.Decisions {
		names = append(names, d.Name)
	}
	for _, m := range regexp.MustCompile(`decision=~"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		for pattern := range strings.SplitSeq(m[1], "|") {
			found["decision"] = true
			exact := regexp.MustCompile("^(?:" + pattern + ")$")
			if !slices.ContainsFunc(names, exact.MatchString) {
				t.Errorf("no decision matches %q", pattern)
			}
		}
	}
	for _, label := range []string{"class", "decision", "kind", "outcome"} {
		if !found[label] {
			t.Errorf("no value of the label %s was found", label)
		}
	}
}
