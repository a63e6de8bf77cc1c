package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/bench/internal/dataset"
	"github.com/kasoku/kasoku/internal/config"
)

func samplesOf(values ...float64) []sample {
	rounds := make([]sample, len(values))
	for i, v := range values {
		rounds[i] = sample{v, v, v, v, v}
	}
	return rounds
}

// Ratios are computed per round, so that rounds in which the whole machine was slow don't change
// their median.
func TestRatiosPairRounds(t *testing.T) {
	reference := samplesOf(10, 100, 20)
	got := ratios(samplesOf(20, 200, 40), reference)
	if got != (sample{2, 2, 2, 2, 2}) {
		t.Errorf("got ratios %v, want 2 everywhere", got)
	}
	if got := ratios(samplesOf(0, 0, 0), reference); got != (sample{}) {
		t.Errorf("got ratios %v without measurements", got)
	}
	if got := medians(samplesOf(3, 1, 2, 10)); got[cpu] != 2.5 {
		t.Errorf("got median %g, want 2.5", got[cpu])
	}
}

func TestOverheadExcludesContent(t *testing.T) {
	const small, large, each = 10, 1000, 96.0
	content := 0
	for i := small; i < large; i++ {
		content += len(dataset.Mixed.AppendItem(nil, i)) + dataset.KeyLen
	}
	heap := 5e6 + float64(content) + each*(large-small)
	if got := overheadPerEntry(5e6, heap, small, large); got != each {
		t.Errorf("got overhead %g, want %g", got, each)
	}
}

func TestLiveHeapFollowsGOGC(t *testing.T) {
	if got := live(metrics{"go_memstats_next_gc_bytes": 300}); got != 150 {
		t.Errorf("with GOGC's default: got %g, want 150", got)
	}
	if got := live(metrics{"go_memstats_next_gc_bytes": 300, "go_gc_gogc_percent": 200}); got != 100 {
		t.Errorf("with GOGC=200: got %g, want 100", got)
	}
}

func TestReportHasGoalsOfMeasurements(t *testing.T) {
	r := &report{Machine: "test", storm: 3, idle: 10 << 10}
	floor := samplesOf(10_000, 10_000)
	r.add(getHit, nameFloor, nameFloor, floor, floor, "")
	r.add(getHit, nameKasoku, nameFloor, samplesOf(14_000, 14_000), floor, "aside")
	r.note("something was left out")
	r.judge()
	var text bytes.Buffer
	if err := r.print(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"pass         CPU of a GetItem hit, in floors: 1.4 (goal: <= 1.5)",
		"pass         KiB of an idle connection: 10 (goal: <= 12)",
		"FALLS SHORT  origin requests of 1,000 clients for one cold key: 3 (goal: <= 1)",
		"note: something was left out",
		"aside",
		"14 us", "(1.40)",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &text)
		}
	}
	if len(r.Goals) != 3 {
		t.Errorf("got %d goals, want the 3 that were measured: %+v", len(r.Goals), r.Goals)
	}
	text.Reset()
	if err := r.print(&text, true); err != nil || !strings.Contains(text.String(), `"Ratio": 1.4`) {
		t.Errorf("as JSON: %v\n%s", err, &text)
	}
}

func TestChecksOnAnswers(t *testing.T) {
	check := ofLength(2)
	f := func(status int, body string, good bool) {
		t.Helper()
		if err := check(0, status, []byte(body)); (err == nil) != good {
			t.Errorf("%d %q: %v", status, body, err)
		}
	}
	f(200, "{}", true)
	f(500, "{}", false)
	f(200, "{ }", false)
	f(200, "[]", false)
	if !sameJSON([]byte(`{"a":1,"b":[2]}`), []byte(` {"b": [2], "a": 1}`)) || sameJSON([]byte(`{"a":1}`), []byte(`{"a":2}`)) || sameJSON([]byte(`{`), []byte(`{`)) {
		t.Error("sameJSON does not compare values")
	}
}

func TestConfigIsValid(t *testing.T) {
	file := configText("127.0.0.1:9000", "1GiB", []service{
		{name: "plain", listen: "127.0.0.1:9001", origin: "127.0.0.1:9100", auth: authNone},
		{name: "signed", listen: "127.0.0.1:9002", origin: "127.0.0.1:9100", auth: authSigned},
	})
	env := func(name string) (string, bool) { return "secret", name == "BENCH_SECRET" }
	if _, err := config.Parse("kasoku.yaml", file, env); err != nil {
		t.Errorf("%v\n%s", err, file)
	}
	file = []byte(siteText("127.0.0.1:9001", "127.0.0.1:9000", "127.0.0.1:9100"))
	if _, err := config.Parse("kasoku.yaml", file, env); err != nil {
		t.Errorf("%v\n%s", err, file)
	}
	file = embeddedText("127.0.0.1:9001", "/tmp/store")
	if _, err := config.Parse("kasoku.yaml", file, env); err != nil {
		t.Errorf("%v\n%s", err, file)
	}
}

func TestOnlyNamesGroupsAndScenarios(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		only := splitNames(text)
		for _, g := range groups {
			if !g.wanted(only) {
				continue
			}
			got = append(got, g.name)
			for _, s := range chosen(g.scenarios, g.name, only) {
				got = append(got, s.name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("-only %q measures %q; want %q", text, got, want)
		}
	}
	f("memory", "memory")
	f("stores", "stores", storeGet, storePut, storeQuery)
	f("query of", "stores", storeQuery)
	f("put", "peers", putOne, putEight, "dax", daxPut, "cluster", clusterPutOne, clusterPut, "stores", storePut)
	f("memory, query of", "stores", storeQuery, "memory")
	f("stores,storm", "stores", storeGet, storePut, storeQuery, "storm")
	f("nothing")
}

// Several scenarios use one list of targets, each with its own requests.
func TestScenariosKeepTheirRequests(t *testing.T) {
	sends := func(text string) traffic {
		return traffic{next: func(int, []byte) []byte { return []byte(text) }}
	}
	targets := []target{{name: "with own requests", load: sends("own")}, {name: "without requests"}}
	for _, scenario := range []string{"first", "second"} {
		var got []string
		for _, p := range provided(targets, sends(scenario)) {
			got = append(got, string(p.load.next(0, nil)))
		}
		if want := []string{"own", scenario}; !slices.Equal(got, want) {
			t.Errorf("%s: the targets get requests %q, want %q", scenario, got, want)
		}
	}
}

// TestReadme checks the table of figures in README.md: each command selects a group, and each
// ratio is one of docs/benchmarks.md.
func TestReadme(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	results := read("../docs/benchmarks.md")
	rows := regexp.MustCompile("(?m)^\\| (.*) \\| ([0-9., to]+) \\| `go run ./bench -only (\\w+)` \\|$").FindAllStringSubmatch(read("../README.md"), -1)
	for _, row := range rows {
		if !slices.Contains(groupNames(), row[3]) {
			t.Errorf("README.md: %s: there is no group %s", row[1], row[3])
		}
		for _, figure := range regexp.MustCompile(`[0-9.]+`).FindAllString(row[2], -1) {
			if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(figure) + `($|[^0-9.]|\.\D)`).MatchString(results) {
				t.Errorf("README.md: %s: docs/benchmarks.md has no %s", row[1], figure)
			}
		}
	}
	if len(rows) < 5 {
		t.Errorf("got %d rows with figures, want at least 5", len(rows))
	}
}
