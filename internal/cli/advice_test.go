package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	rules "github.com/kasoku/kasoku/internal/advice"
	"github.com/kasoku/kasoku/internal/config"
)

// TestAdviceInDocs runs the commands of the page for a cache that is too small, and for queries that
// are not repeated.
func TestAdviceInDocs(t *testing.T) {
	r := run(t, `admin: {listen: "127.0.0.1:0"}
cache: {memory: 1MiB}
services:
  store: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}}
`)
	if got := r.advise(); !strings.Contains(got, "There is no suggestion") {
		t.Errorf("without requests the advice is\n%s", got)
	}
	r.ask("store", "CreateTable", createT)
	random := rand.New(rand.NewPCG(1, 1))
	for range 250 {
		var keys []string
		for _, k := range random.Perm(8000)[:100] {
			keys = append(keys, fmt.Sprintf(`{"id":{"S":"%d"}}`, k))
		}
		r.ask("store", "BatchGetItem", `{"RequestItems":{"tab":{"Keys":[`+strings.Join(keys, ",")+`]}}}`)
	}
	for i := range 1000 {
		r.ask("store", "Query", fmt.Sprintf(`{"TableName":"tab","KeyConditionExpression":"id=:i","ExpressionAttributeValues":{":i":{"S":"q%d"}}}`, i))
	}
	r.settle("store")
	ran := 0
	for _, page := range []string{"observability.md", "cli.md"} {
		for line := range strings.Lines(pages(t)[page]) {
			args, ok := strings.CutPrefix(line, "    kasoku advise")
			if !ok {
				continue
			}
			args, _, _ = strings.Cut(args, "  ") // a comment
			ran++
			got := r.advise(words(t, args)...)
			for _, want := range []string{"memory-too-small", "cache: {memory: 2MiB}", "queries-not-repeated", "query_ttl: 0s"} {
				if !strings.Contains(got, want) {
					t.Errorf("kasoku advise%s has no %q:\n%s", args, want, got)
				}
			}
		}
	}
	if ran != 5 {
		t.Errorf("the pages have %d commands, want 5", ran)
	}
	if report := r.page("/api/v1/report"); !strings.Contains(report, "\nadvice\nmemory-too-small\n") {
		t.Errorf("the report is\n%s", report)
	}
	var a rules.Report
	if err := json.Unmarshal([]byte(r.page("/api/v1/advice")), &a); err != nil {
		t.Fatal(err)
	}
	if m := a.Memory[0]; len(a.Memory) != 1 || !m.Enough || m.Capacity != 1<<20 || *m.Half >= *m.HitRatio || *m.Double <= *m.HitRatio {
		t.Errorf("the memory has the estimates %+v", a.Memory)
	}
}

// advise returns the output of kasoku advise.
func (r *running) advise(args ...string) string {
	r.t.Helper()
	code, out, errs := command(r.t, append(append([]string{"advise"}, args...), "--admin", "http://"+r.AdminAddr().String()))
	if code != codeOK {
		r.t.Fatalf("kasoku advise %q: exit code %d: %s", args, code, errs)
	}
	return out
}

// The rules use the settings of the first pattern that matches a table, and of its service otherwise.
func TestSettingsOfAdvisedTables(t *testing.T) {
	cfg, err := config.Parse("kasoku.yaml", []byte(head+`  orders:
    type: dynamodb
    listen: 127.0.0.1:8000
    origin: http://127.0.0.1:8001
    region: local
    auth: {mode: none}
    query_ttl: 2m
    tables:
      log-a: {item_ttl: 2h}
      log-*: {item_ttl: 1h, query_ttl: 0s, streams_max_lag: 3s}
      none: {cache: false}
      gone: {negative_ttl: 7s}
`), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		followed bool
		want     string
	}{
		{"users", false, " 5m0s 2m0s 1m0s 1s"},
		{"users", true, " 24h0m0s 2m0s 1m0s 1s"},
		{"log-a", false, "log-a 2h0m0s 2m0s 1m0s 1s"},
		{"log-b", true, "log-* 1h0m0s 0s 1m0s 3s"},
		{"none", false, "none 0s 0s 0s 1s"},
		{"gone", false, "gone 5m0s 2m0s 7s 1s"},
	} {
		table := rules.Table{Name: tc.name}
		setTable(&table, cfg.Services[0].DynamoDB, tc.followed)
		if got := fmt.Sprint(table.Pattern, " ", table.ItemTTL, " ", table.QueryTTL, " ", table.NegativeTTL, " ", table.StreamsMaxLag); got != tc.want {
			t.Errorf("table %s, followed %v: got %q, want %q", tc.name, tc.followed, got, tc.want)
		}
	}
}
