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
}
