package accel

import (
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/partiql"
)

// TestKeyOfCondition checks that the item of a statement is determined only if its condition allows no
// other.
func TestKeyOfCondition(t *testing.T) {
	tb := &table{hash: attribute{"p", 'S'}, rng: attribute{"s", 'N'}}
	f := func(where, want string) {
		t.Helper()
		cmd, err := partiql.Translate([]byte("DELETE FROM t WHERE "+where), nil, false)
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		got, ok := tb.keyOfCondition(cmd.Where)
		if ok {
			_, ok = tb.keyOf(got)
		}
		if ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: got %s, %v", where, got, ok)
		}
	}
	const key = `{"p":{"S":"a"},"s":{"N":"1"}}`
	f("p = 'a' AND s = 1", key)
	f("p = 'a' AND (s = 1 AND v > 2)", key)
	f("'a' = p AND 1.0 = s AND NOT v = 1", key)
	f("s = 1 AND p = 'a' AND q.p = 'b' AND (v = 1 OR p = 'b')", `{"s":{"N":"1"},"p":{"S":"a"}}`)
	f("p = 'a'", "")
	f("s = 1", "")
	f("p = 'a' OR s = 1", "")
	f("NOT p = 'a' AND s = 1", "")
	f("p = 'a' AND s IN [1]", "")
	f("p = 'a' AND s >= 1 AND s <= 1", "")
	f("p = 'a' AND p = 'a' AND s = 1", "")
	f("p = 'a' AND p = 'b' AND s = 1", "")
	f("p = 1 AND s = 1", "")
	f("p = s AND s = 1", "")
	f("q.p = 'a' AND s = 1", "")
}

// TestStatementErrors checks which answers to a batch of statements have errors, and which leave open
// what was executed.
func TestStatementErrors(t *testing.T) {
	f := func(body string, failed, unknown bool) {
		t.Helper()
		if gotFailed, gotUnknown := statementFailed([]byte(body)), statementUnknown([]byte(body)); gotFailed != failed || gotUnknown != unknown {
			t.Errorf("%s: failed %v, unknown %v", body, gotFailed, gotUnknown)
		}
	}
	f(`{"Responses":[]}`, false, false)
	f(`{"Responses":[{"TableName":"t"},{"Error":null}]}`, false, false)
	f(`{"Responses":[{"TableName":"t"},{"Error":{"Code":"DuplicateItem"}}]}`, true, false)
	f(`{"Responses":[{"Error":{"Code":"DuplicateItem"}},{"Error":{"Code":"InternalServerError"}}]}`, true, true)
	f(`{"Responses":[{"Error":{}}]}`, true, false)
	f(`{"Responses":{}}`, true, true)
	f(`{"Responses":[],"Responses":[]}`, true, true)
	f(`{}`, true, true)
}
