package accel

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/http1"
)

// twoKeys configures LIMITED, which may read and write tables that begin with a, and FULL,
// which may do everything.
func twoKeys(cfg *Config, _ *cache.Config) {
	cfg.Keys = []Key{
		{ID: "LIMITED", Secret: "l", Tables: []string{"a*"}, Allow: []wire.Access{wire.Read, wire.Write, wire.Admin}},
		{ID: "FULL", Secret: "f", Tables: []string{"*"}, Allow: []wire.Access{wire.Read, wire.Write, wire.Admin}},
		{ID: "WRITER", Secret: "w", Tables: []string{"*"}, Allow: []wire.Access{wire.Read, wire.Write}},
	}
}

var secrets = map[string]string{"LIMITED": "l", "FULL": "f", "WRITER": "w"}

// signed returns a request signed with a key.
func signed(t testing.TB, key, path string, body []byte, fields ...string) http1.Request {
	t.Helper()
	r := http1.Request{Method: []byte("POST"), Target: []byte(path), Path: []byte(path), Host: []byte("127.0.0.1"), Minor: 1}
	r.Fields = append(http1.FieldsOf("Host", "127.0.0.1", "Content-Length", fmt.Sprint(len(body))), http1.FieldsOf(fields...)...)
	provider := credentials.NewStaticCredentialsProvider(key, secrets[key], "")
	if err := sigv4.NewSigner(aws.CredentialsProvider(provider), "us-east-1", "dynamodb").Sign(t.Context(), &r, body); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPermissions checks the permissions of a key for every way of naming a table.
func TestPermissions(t *testing.T) {
	f := newFixture(t, twoKeys)
	for _, op := range []string{"GetItem", "BatchGetItem", "TransactGetItems", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction",
		"Query", "PutItem", "BatchWriteItem", "TransactWriteItems", "ListTables", "DescribeStream", "Frobnicate", "RestoreTableToPointInTime", "DeleteTable"} {
		f.origin.reply(op, `{}`)
	}
	do := func(key, op, body string, fields ...string) result {
		t.Helper()
		fields = append([]string{"X-Amz-Target", targetPrefix + op, "Content-Type", jsonType}, fields...)
		return f.send(signed(t, key, "/", []byte(body), fields...), body)
	}
	yes := func(key, op, body string) {
		t.Helper()
		if r := do(key, op, body); r.status != http.StatusOK {
			t.Errorf("%s is denied %s %s: %s", key, op, body, r.body)
		}
	}
	no := func(key, op, body string) {
		t.Helper()
		f.origin.take()
		if r := do(key, op, body); r.status != http.StatusBadRequest || !strings.Contains(r.body, "AccessDeniedException") {
			t.Errorf("%s is allowed %s %s: %d %s", key, op, body, r.status, r.body)
		}
		if asked := f.origin.take(); len(asked) > 0 {
			t.Errorf("%s %s %s: the origin received %v", key, op, body, asked)
		}
	}
	const get = `{"TableName":"%s","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`
	yes("LIMITED", "GetItem", fmt.Sprintf(get, "a1"))
	no("LIMITED", "GetItem", fmt.Sprintf(get, "t"))
	yes("LIMITED", "GetItem", fmt.Sprintf(get, "arn:aws:dynamodb:us-east-1:000000000000:table/a1"))
	no("LIMITED", "GetItem", fmt.Sprintf(get, "arn:aws:dynamodb:us-east-1:000000000000:table/t"))
	no("LIMITED", "GetItem", fmt.Sprintf(get, "arn:aws:dynamodb:table/a1:000000000000:table/t"))
	no("LIMITED", "GetItem", `{"Key":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	no("LIMITED", "BatchGetItem", `{"RequestItems":{"a1":{"Keys":[{"p":{"S":"a"}}]},"t":{"Keys":[{"p":{"S":"a"}}]}}}`)
	no("LIMITED", "BatchGetItem", `{"RequestItems":{"a1":{"Keys":[{"p":{"S":"a"}}]},"\u0074":{"Keys":[{"p":{"S":"a"}}]}}}`)
	yes("LIMITED", "BatchGetItem", `{"RequestItems":{"a1":{"Keys":[{"p":{"S":"a"}}]}}}`)
	no("LIMITED", "TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"a1","Key":{}}},{"Get":{"TableName":"t","Key":{}}}]}`)
	no("LIMITED", "TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"a1","Item":{}},"ConditionCheck":{"TableName":"t","Key":{}}}]}`)
	no("LIMITED", "BatchWriteItem", `{"RequestItems":{"a1":[],"t":[]}}`)
	yes("LIMITED", "ExecuteStatement", `{"Statement":"SELECT * FROM \"a1\""}`)
	no("LIMITED", "ExecuteStatement", `{"Statement":"SELECT * FROM \"t\""}`)
	no("LIMITED", "ExecuteStatement", `{"Statement":"SELECT * FROM \"arn:aws:dynamodb:us-east-1:000000000000:table/t\""}`)
	yes("LIMITED", "ExecuteStatement", `{"Statement":"SELECT * FROM \"arn:aws:dynamodb:us-east-1:000000000000:table/a1\""}`)
	no("LIMITED", "ExecuteStatement", `{"Statement":"SELECT * FROM a1, t"}`)
	no("LIMITED", "ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM a1 WHERE p = 1"},{"Statement":"SELECT * FROM t WHERE p = 1"}]}`)
	no("LIMITED", "BatchExecuteStatement", `{"Statements":{"x":{"Statement":"SELECT * FROM t"}}}`)
	no("LIMITED", "BatchExecuteStatement", `{"Statements":[]}`)
	no("LIMITED", "ListTables", `{}`)
	no("LIMITED", "Frobnicate", `{}`)
	no("LIMITED", "Frobnicate", `{"TableName":"t"}`)
	no("LIMITED", "RestoreTableToPointInTime", `{"SourceTableName":"t","TargetTableName":"a2"}`)
	// Unknown operations may change tables.
	no("WRITER", "Frobnicate", `{"TableName":"t"}`)
	no("WRITER", "DeleteTable", `{"TableName":"t"}`)
	yes("FULL", "Frobnicate", `{"TableName":"t"}`)
	yes("FULL", "ListTables", `{}`)

	// The newer protocol, whose tables aren't determined.
	cbor := func(key, op string) result {
		path := "/service/DynamoDB_20120810/operation/" + op
		return f.send(signed(t, key, path, []byte("\xa0"), "smithy-protocol", "rpc-v2-cbor", "Content-Type", "application/cbor"), "\xa0")
	}
	for key, op := range map[string]string{"LIMITED": "GetItem", "WRITER": "%44eleteTable"} {
		if r := cbor(key, op); !strings.Contains(r.body, "AccessDenied") {
			t.Errorf("%s is allowed %s as CBOR: %d %s", key, op, r.status, r.body)
		}
	}
	// Compressed bodies are signed as they are sent, and checked like any other.
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	fmt.Fprintf(z, get, "t")
	z.Close()
	r := do("LIMITED", "GetItem", zipped.String(), "Content-Encoding", "gzip")
	if !strings.Contains(r.body, "AccessDenied") {
		t.Errorf("compressed: %d %s", r.status, r.body)
	}
}

// TestAuthorizedTargetIsSent checks that the operation sent to the origin is the authorised one,
// whatever else the header contains.
func TestAuthorizedTargetIsSent(t *testing.T) {
	f := newFixture(t)
	var heads []http.Header
	f.origin.spy = func(h http.Header) { heads = append(heads, h.Clone()) }
	r := request("TransactGetItems")
	r.Fields = append(r.Fields, http1.Field{Name: []byte("X-Amz-Target"), Value: []byte(targetPrefix + "DeleteTable")},
		http1.Field{Name: []byte("smithy-protocol"), Value: []byte("rpc-v2-cbor")},
		http1.Field{Name: []byte("X-Amz-Content-Sha256"), Value: []byte("UNSIGNED-PAYLOAD")})
	f.origin.reply("TransactGetItems", `{}`)
	f.send(r, `{"TableName":"t"}`)
	if len(heads) != 1 {
		t.Fatalf("the origin received %d requests, want 1", len(heads))
	}
	h := heads[0]
	if v := h.Values("X-Amz-Target"); len(v) != 1 || v[0] != targetPrefix+"TransactGetItems" {
		t.Errorf("X-Amz-Target %q", v)
	}
	if v := h.Values("Content-Type"); len(v) != 1 || v[0] != jsonType {
		t.Errorf("Content-Type %q", v)
	}
	if v := h.Values("Smithy-Protocol"); len(v) != 0 {
		t.Errorf("smithy-protocol %q", v)
	}
}
