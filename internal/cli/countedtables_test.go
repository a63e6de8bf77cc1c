package cli

import (
	"bytes"
	"fmt"
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
	o := r.overview()
	all := o.JSON().Services[0].Tables
	var counted []string
	for _, t := range all {
		counted = append(counted, fmt.Sprint(t.Table, " ", t.Requests, " ", t.Decisions))
	}
	const want = "other 3 map[bypass-uncacheable:3], users 2 map[miss:1 pass:1], named 1 map[bypass-uncacheable:1]"
	if got := strings.Join(counted, ", "); got != want || all[1].OriginSeconds == nil || all[1].SentBytes == 0 {
		t.Errorf("the report has the tables %s, want %s, each with its origin's times and bytes: %+v", got, want, all)
	}
}
