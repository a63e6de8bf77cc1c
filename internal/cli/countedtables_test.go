package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Requests are counted by table. A table that the configuration names has series from the start; a
// pattern is no name.
func TestTableMetrics(t *testing.T) {
	r := run(t, head+`  orders: {type: dynamodb, listen: "127.0.0.1:0", origin: "embedded:memory", auth: {mode: none}, tables: {named: {}, "log-*": {}}}`+"\n")
	get := func(table string) {
		_, _ = r.api("orders", "GetItem", fmt.Sprintf(`{"TableName":%q,"Key":{"id":{"S":"1"}}}`, table))
	}
	for _, table := range []string{"users", "named", "log-*", "away"} {
		get(table)
	}
	if _, err := r.api("orders", "CreateTable", `{"TableName":"users","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],`+
		`"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"BillingMode":"PAY_PER_REQUEST"}`); err != nil {
		t.Fatal(err)
	}
	get("users")
	get("users")
	r.settle("orders")
	w := httptest.NewRecorder()
	r.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var tables []string
	for line := range bytes.Lines(w.Body.Bytes()) {
		if rest, ok := strings.CutPrefix(string(line), `kasoku_table_sent_bytes_total{service="orders",table="`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			tables = append(tables, name)
		}
	}
	if got := strings.Join(tables, " "); got != "named other users" {
		t.Errorf("there are series for the tables %q", got)
	}
	if want := `kasoku_table_hit_age_seconds_count{service="orders",table="users"} 1`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("there is no %s", want)
	}
	o := r.overview()
	all := o.JSON().Services[0].Tables
	var counted []string
	for _, t := range all {
		counted = append(counted, fmt.Sprint(t.Table, " ", t.Requests, " ", t.Decisions))
	}
	const want = "users 3 map[hit-negative:1 miss:1 pass:1], other 3 map[bypass-uncacheable:3], named 1 map[bypass-uncacheable:1]"
	if got := strings.Join(counted, ", "); got != want || all[0].OriginSeconds == nil || all[0].SentBytes == 0 {
		t.Errorf("the report has the tables %s, want %s, each with its origin's times and bytes: %+v", got, want, all)
	}
}

// Requests of type http are counted by route: the configured ones, and first segments of paths that
// exist.
func TestRouteMetrics(t *testing.T) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer origin.Close()
	r := run(t, head+fmt.Sprintf(`  site: {type: http, listen: "127.0.0.1:0", origins: [%q], default_ttl: 1m, routes: [/api/*, /none]}`, origin.URL)+"\n")
	for _, path := range []string{"/api/a", "/api/a", "/api/b", "/img/a", "/img/b", "/"} {
		r.fetch("site", path)
	}
	r.settle("site")
	o := r.overview()
	var counted []string
	for _, t := range o.JSON().Services[0].Tables {
		counted = append(counted, fmt.Sprint(t.Table, " ", t.Requests, " ", t.Decisions))
	}
	const want = "/api/* 3 map[hit:1 miss:2], /img 2 map[miss:2], / 1 map[miss:1]"
	if got := strings.Join(counted, ", "); got != want {
		t.Errorf("the report has the routes %s, want %s", got, want)
	}
	w := httptest.NewRecorder()
	r.registry.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`kasoku_route_hit_age_seconds_count{route="/api/*",service="site"} 1`, `kasoku_route_requests_total{decision="hit",route="/api/*",service="site"} 1`, `kasoku_route_sent_bytes_total{route="/none",service="site"} 0`} {
		if !strings.Contains(w.Body.String(), "\n"+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}
