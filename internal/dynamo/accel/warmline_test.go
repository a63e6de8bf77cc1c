package accel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/telemetry"
)

func TestWarmLines(t *testing.T) {
	f := newFixture(t, unlagged)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	f.origin.reply("Query", `{"Count":0,"Items":[]}`)
	f.origin.reply("Scan", `{"Count":0,"Items":[]}`)
	warm := func(entry, want string) {
		t.Helper()
		outcome, err := f.svc.Warm(t.Context(), entry)
		got := string(outcome)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %s, want %s", entry, got, want)
		}
		if invalid := errors.Is(err, admin.ErrInput); invalid != strings.HasPrefix(got, admin.ErrInput.Error()) {
			t.Errorf("%s: %v is a mistake of the line: %v", entry, err, invalid)
		}
	}
	warm(`t {"p":{"S":"a"},"s":{"N":"1"}}`, "filled")
	warm(`t p=a,s:N=1.0`, "present")
	warm(`GetItem `+clusterGet, "present")
	warm(" t   p=b,s:N=2 ", "filled")
	warm("Query "+clusterQuery, "filled")
	warm("Query "+clusterQuery, "present")
	warm(`Scan {"TableName":"t"}`, "filled")
	warm(`Query `+clusterQuery[:len(clusterQuery)-1]+`,"ConsistentRead":true}`, "uncacheable")
	warm(`Scan {"TableName":"t","Unknown":1}`, "uncacheable")
	f.origins("GetItem", "GetItem", "Query", "Scan")
	f.expect("GetItem", clusterGet, telemetry.Hit, `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	f.expect("Query", clusterQuery, telemetry.Hit, `{"Count":0,"Items":[]}`)

	warm("t", "bad request: it needs a table and the key of an item")
	warm("", "bad request: it needs a table")
	warm("t p", "bad request: the key is neither an object")
	warm(`t {"p":`, "bad request: the key is not JSON")
	warm("t p=a", `is not the key of an item of table t: it needs exactly p (S) and s (N)`)
	warm("t p=a,s=1", "is not the key of an item of table t")
	warm(`Query {"TableName":1}`, "bad request: TableName is not a text")
	warm(`Query {"TableName":""}`, "bad request: TableName is not the name of a table")
	f.origins()

	f.origin.mu.Lock()
	f.origin.handler = func(op, body string) (int, string) {
		switch {
		case strings.Contains(body, `"gone"`):
			return 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no"}`
		case op == "DescribeTable":
			return 0, ""
		}
		return 400, `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"no"}`
	}
	f.origin.mu.Unlock()
	warm("gone p=a", "bad request: the origin of service orders has no table gone")
	warm("t p=c,s:N=1", "the origin answers with 400 Bad Request: AccessDeniedException")
	f.origin.srv.Close()
	warm("t p=d,s:N=1", "connection refused")
}

// While a write is in flight, nothing can be filled.
func TestWarmDuringWrite(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{}`)
	const entry = "t p=a,s:N=1"
	if outcome, err := f.svc.Warm(t.Context(), entry); outcome != admin.WarmFilled || err != nil {
		t.Fatal(outcome, err)
	}
	table := f.svc.peek([]byte("t"))
	w, err := f.svc.cache.Begin(t.Context(), table.itemTags(itemKey{})[1:], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Unknown()
	if outcome, err := f.svc.Warm(t.Context(), entry); outcome != admin.WarmUncacheable || err != nil {
		t.Errorf("got %s, %v", outcome, err)
	}
}

func TestParseKey(t *testing.T) {
	for text, want := range map[string]string{
		`{"id":{"S":"7"}}`:   `map[id:{"S":"7"}]`,
		"id=7":               `map[id:{"S":"7"}]`,
		"id=a=b,n:N=1":       `map[id:{"S":"a=b"} n:{"N":"1"}]`,
		`id=say "no"`:        `map[id:{"S":"say \"no\""}]`,
		"a:b:B=AA==":         `map[a:b:{"B":"AA=="}]`,
		"id":                 "the key is neither",
		"=7":                 "the key is neither",
		"id=7,":              "the key is neither",
		`{"id":{"S":"7"}} x`: "the key is not JSON",
	} {
		key, err := ParseKey(text)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			parts := make(map[string]string)
			for name, v := range key {
				parts[name] = string(v)
			}
			got = fmt.Sprint(parts)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
