package accel

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/dynamo/sigv4"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

// TestUnusualWritesInvalidate checks that a write in an unusual form invalidates everything
// that some origin could change for it.
func TestUnusualWritesInvalidate(t *testing.T) {
	const (
		itemB = `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}}}`
		partB = `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"b"}}}`
		gsiX  = `{"TableName":"t","IndexName":"byg","KeyConditionExpression":"g = :g","ExpressionAttributeValues":{":g":{"S":"x"}}}`
		byk   = `{"TableName":"t","IndexName":"byk","KeyConditionExpression":"k = :k","ExpressionAttributeValues":{":k":{"S":"x"}}}`
		full  = `{"Count":0,"Items":[],"ScannedCount":0}`
	)
	reads := map[string][2]string{"item b": {"GetItem", itemB}, "partition b": {"Query", partB}, "byg x": {"Query", gsiX}, "byk x": {"Query", byk}, "scan": {"Scan", `{"TableName":"t"}`}}
	replies := map[string]string{"GetItem": `{"Item":{"p":{"S":"b"},"s":{"N":"1"},"g":{"S":"old"}}}`, "Query": full, "Scan": full}
	f := func(op, body, dropped string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			s.start()
			do := func(op, body string) *edge.Exchange {
				s.run("origin 200 " + cmp.Or(replies[op], `{}`))
				x := s.send(op, body)
				s.origin.next = nil
				return x
			}
			for _, r := range reads {
				do(r[0], r[1])
				if d := do(r[0], r[1]).Record.Decision; d != telemetry.Hit {
					t.Fatalf("%s is not cached: %s", r[1], d)
				}
			}
			if x := do(op, body); x.Reply.Status != http.StatusOK {
				t.Fatalf("%s %s: got %d %s", op, body, x.Reply.Status, x.Reply.Body)
			}
			for name := range strings.SplitSeq(dropped, ", ") {
				if r := reads[name]; do(r[0], r[1]).Record.Decision == telemetry.Hit {
					t.Errorf("after %s %s\n%s is still cached", op, body, name)
				}
			}
		})
	}
	const all = "item b, partition b, byg x, byk x, scan"
	// A key attribute twice: origins differ in which one they use.
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"p":{"S":"b"},"s":{"N":"1"}}}`, "item b, partition b, scan")
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"\u0070":{"S":"b"},"s":{"N":"1"}}}`, "item b, partition b, scan")
	f("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"},"p":{"S":"b"},"s":{"N":"1"}}}}]}}`, "item b, partition b, scan")
	f("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":{"p":{"S":"a"},"p":{"S":"b"},"s":{"N":"1"}}}}]}`, "item b, partition b, scan")
	// The key in other spellings.
	f("DeleteItem", `{"TableName":"t","Key":{"\u0070":{"S":"\u0062"},"s":{"N":"1.0"}}}`, "item b, partition b, scan")
	f("DeleteItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"\u0031"}}}`, all)
	f("DeleteItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"},"z":null}}`, all)
	f("DeleteItem", `{"TableN\u0061me":"\u0074","Key":{"p":{"S":"b"},"s":{"N":"1"}}}`, "item b, partition b, scan")
	f("DeleteItem", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/t","Key":{"p":{"S":"b"},"s":{"N":"1"}}}`, all)
	// DynamoDB Local takes T for t.
	f("DeleteItem", `{"TableName":"T","Key":{"p":{"S":"b"},"s":{"N":"1"}}}`, "item b, partition b, scan")
	// An index key that can't be parsed here still changes an index partition.
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"y"},"g":{"S":"x"}}}`, "byg x")
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"g":null,"\u0067":{"S":"x"}}}`, "byg x")
	f("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"1"},"g":{"S":"y"},"g":{"S":"x"}}}}]}}`, "item b, byg x")
	f("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}},"UpdateExpression":"SET g = :g","ExpressionAttributeValues":{":g":{"S":"x\ud800"}}}`, "item b, byg x")
	f("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}},"UpdateExpression":"SET g = :g","ExpressionAttributeValues":{":g":{"S":"x"}}}`, "partition b, byg x, scan")
	f("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}},"AttributeUpdates":{"g":{"Value":{"S":"x"}}}}`, "byg x")
	// Statements, by name and by ARN, and statements that aren't in a list.
	f("ExecuteStatement", `{"Statement":"DELETE FROM \"t\" WHERE p = 'b' AND s = 1"}`, all)
	f("ExecuteStatement", `{"Statement":"DELETE FROM \"arn:aws:dynamodb:us-east-1:000000000000:table/t\" WHERE p = 'b' AND s = 1"}`, all)
	f("ExecuteStatement", `{"Statement":"-- \nDELETE FROM t WHERE p = 'b' AND s = 1"}`, all)
	f("BatchExecuteStatement", `{"Statements":{"0":{"Statement":"DELETE FROM t WHERE p = 'b' AND s = 1"}}}`, all)
	// Unknown operations.
	f("MergeItems", `{"TableName":"t"}`, all)
	f("MergeItems", `{"Somewhere":"else"}`, all)
	f("TransactWriteItems", `{"TransactItems":[{"Merge":{"TableName":"t","Key":{"p":{"S":"b"},"s":{"N":"1"}}}}]}`, all)
}

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

// TestTwoTargets checks that the operation sent to the origin is the authorised one,
// whatever else the header contains.
func TestTwoTargets(t *testing.T) {
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

// TestRecordOutlivesCall checks that the access log's record, which is written after Serve has
// returned, references nothing of the pooled call.
func TestRecordOutlivesCall(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{}`)
	x := edge.Detached(context.Background(), request("GetItem"), []byte(getA), time.Now())
	f.svc.Serve(x)
	for range 8 {
		f.do("GetItem", strings.Replace(getA, `"t"`, `"other"`, 1))
	}
	if got := string(x.Record.Table); got != "t" {
		t.Errorf("the record's table was changed to %q", got)
	}
}

// TestInvalidResponsesAreNotCached checks that invalid responses with status 200 are relayed
// unchanged to one client and not cached.
func TestInvalidResponsesAreNotCached(t *testing.T) {
	f := func(op, body, garbage string) {
		t.Helper()
		o := newFixture(t)
		o.origin.reply(op, garbage)
		first := o.do(op, body)
		if strings.Contains(first.head, "stored") {
			t.Errorf("%s: %q was cached", op, garbage)
		}
		if first.body != garbage {
			t.Errorf("%s: the response %q became %d %q", op, garbage, first.status, first.body)
		}
		if d := o.do(op, body).decision; d == telemetry.Hit || d == telemetry.HitNegative {
			t.Errorf("%s: the second request for %q is a %s", op, garbage, d)
		}
	}
	const query = `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"b"}}}`
	const batch = `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`
	for _, garbage := range []string{``, `[]`, `"x"`, `null`, `7`} {
		f("GetItem", getA, garbage)
		f("Query", query, garbage)
		f("Scan", `{"TableName":"t"}`, garbage)
		f("BatchGetItem", batch, garbage)
	}
	f("GetItem", getA, `{"Item":7}`)
	f("GetItem", getA, `{"Item":{"p":{"S":"a"}},"Item":{"p":{"S":"b"}}}`)
	f("Query", query, `{}`)
	f("BatchGetItem", batch, `{}`)
	f("BatchGetItem", batch, `{"Responses":{"t":{}},"UnprocessedKeys":{}}`)
	f("BatchGetItem", batch, `{"Responses":{"t":[{"p":{"S":"z"},"s":{"N":"9"}}]},"UnprocessedKeys":{}}`)
	f("BatchGetItem", batch, `{"Responses":{"t":[]},"UnprocessedKeys":{"t":{"Keys":[{"p":{"S":"z"},"s":{"N":"9"}}]}}}`)
}

// TestInvalidReadsAreForwarded checks that requests that DynamoDB rejects, or with an
// uncertain response, are forwarded although the item is cached.
func TestInvalidReadsAreForwarded(t *testing.T) {
	o := newFixture(t)
	o.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	o.origin.reply("BatchGetItem", `{"Responses":{"t":[]},"UnprocessedKeys":{}}`)
	o.do("GetItem", getA)
	o.origin.take()
	f := func(op, body string) {
		t.Helper()
		r := o.do(op, body)
		asked := o.origin.take()
		if len(asked) != 1 || asked[0].body != body {
			t.Errorf("%s %s\ngot %d %s %s, want the request forwarded unchanged\nthe origin received %v", op, body, r.status, r.decision, r.body, asked)
		}
	}
	key := `"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}}`
	for _, more := range []string{
		`"ConsistentRead":"yes"`, `"ConsistentRead":1`, `"ReturnConsumedCapacity":"SOME"`, `"ProjectionExpression":""`, `"ProjectionExpression":"a,"`,
		`"ProjectionExpression":"a, a.b"`, `"ProjectionExpression":"name"`, `"ProjectionExpression":"#v"`, `"AttributesToGet":[]`, `"AttributesToGet":["a","a"]`,
		`"ExpressionAttributeNames":{"#v":"v"}`, `"ProjectionExpression":"v","ExpressionAttributeNames":{"#v":"v"}`, `"ProjectionExpression":"v","ExpressionAttributeNames":{}`,
		`"ProjectionExpression":"v","AttributesToGet":["v"]`, `"Tomorrow":1`, `"AttributesToGet":"v"`, `"ProjectionExpression":["v"]`,
	} {
		f("GetItem", `{`+key+`,`+more+`}`)
	}
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"S":"1"}}}`)
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":""},"s":{"N":"1"}}}`)
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"x"}}}`)
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a","N":"1"},"s":{"N":"1"}}}`)
	f("GetItem", `{"TableName":"t","Key":[]}`)
	f("GetItem", `{"TableName":"t"}`)
	one := `{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}`
	// One table twice, and expressions in one part with AttributesToGet in another.
	f("BatchGetItem", `{"RequestItems":{"t":`+one+`,"\u0074":{"Keys":[{"p":{"S":"b"},"s":{"N":"1"}}]}}}`)
	f("BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}],"ProjectionExpression":"v"},"u":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}],"AttributesToGet":["v"]}}}`)
	f("BatchGetItem", `{"RequestItems":{"t":{"Keys":[]}}}`)
	f("BatchGetItem", `{"RequestItems":{}}`)
	var keys []string
	for i := range maxBatchKeys + 1 {
		keys = append(keys, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"}}`, i))
	}
	f("BatchGetItem", `{"RequestItems":{"t":{"Keys":[`+strings.Join(keys, ",")+`]}}}`)
}

// TestInvalidConsistentReadIsForwardedUnchanged checks that a read with an invalid
// ConsistentRead isn't replaced by a valid strongly consistent one.
func TestInvalidConsistentReadIsForwardedUnchanged(t *testing.T) {
	f := newFixture(t, func(_ *Config, cc *cache.Config) { cc.Settle = time.Hour })
	f.origin.reply("GetItem", `{}`)
	f.origin.reply("Query", `{}`)
	for _, odd := range []string{`"yes"`, `1`, `{}`} {
		for op, body := range map[string]string{
			"GetItem": `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ConsistentRead":` + odd + `}`,
			"Query":   `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"b"}},"ConsistentRead":` + odd + `}`,
		} {
			f.do(op, body)
			if asked := f.origins(op); asked[0].body != body {
				t.Errorf("%s was forwarded as %s", body, asked[0].body)
			}
		}
	}
}

// TestErrorsAreRelayedUnchanged checks that errors of the origin are relayed with their bytes
// and header fields, whatever the operation.
func TestErrorsAreRelayedUnchanged(t *testing.T) {
	const odd = `{ "__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException" , "Message":"\u0052equested 1.0" }`
	for op, body := range map[string]string{
		"GetItem":            getA,
		"BatchGetItem":       `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`,
		"Query":              `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"b"}}}`,
		"Scan":               `{"TableName":"t","Filter":1}`,
		"PutItem":            `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`,
		"BatchWriteItem":     `{"RequestItems":{"t":[]}}`,
		"TransactWriteItems": `{"TransactItems":[]}`,
		"TransactGetItems":   `{"TransactItems":[]}`,
		"ExecuteStatement":   `{"Statement":"SELECT * FROM t"}`,
		"UpdateTable":        `{"TableName":"t"}`,
		"ListStreams":        `{}`,
	} {
		for _, consistent := range []bool{false, true} {
			if consistent {
				body = strings.Replace(body, `{"TableName":"t"`, `{"TableName":"t","ConsistentRead":true`, 1)
			}
			f := newFixture(t)
			f.origin.handler = func(op, _ string) (int, string) {
				if op == "DescribeTable" {
					return 0, ""
				}
				return http.StatusBadRequest, odd
			}
			r := f.do(op, body)
			if r.status != http.StatusBadRequest || r.body != odd || headerIn(r.head, "x-amzn-RequestId") != "ORIGIN" || headerIn(r.head, "Content-Type") != jsonType {
				t.Errorf("%s %s: the answer differs from the origin's:\n%d %s\n%s", op, body, r.status, r.body, r.head)
			}
		}
	}
}

// TestBatchReplyLimit checks that the reply to a batch is limited to DynamoDB's size, and that
// the other keys are returned as unprocessed.
func TestBatchReplyLimit(t *testing.T) {
	s, p := withParrot(t)
	var keys, items []string
	text := strings.Repeat("x", 200<<10)
	for i := range maxBatchKeys {
		keys = append(keys, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"}}`, i))
		items = append(items, fmt.Sprintf(`{"p":{"S":"a"},"s":{"N":"%d"},"v":{"S":"%s"}}`, i, text))
	}
	p.reply = `{"Responses":{"t":[` + strings.Join(items, ",") + `]},"UnprocessedKeys":{}}`
	body := `{"RequestItems":{"t":{"Keys":[` + strings.Join(keys, ",") + `]}}}`
	x := edge.Detached(t.Context(), request("BatchGetItem"), []byte(body), time.Now())
	s.Serve(x)
	var got struct {
		Responses       map[string][]json.RawMessage
		UnprocessedKeys map[string]struct{ Keys []json.RawMessage }
	}
	if err := json.Unmarshal(x.Reply.Body, &got); err != nil {
		t.Fatal(err)
	}
	answered, left := len(got.Responses["t"]), len(got.UnprocessedKeys["t"].Keys)
	if answered+left != maxBatchKeys || answered != maxBatchReply/len(items[0]) {
		t.Errorf("%d keys answered, %d unprocessed", answered, left)
	}
}

// TestPanicWhileDescribing checks that a panic while describing a table is counted, and that
// its requests are forwarded.
func TestPanicWhileDescribing(t *testing.T) {
	s, p := withParrot(t)
	p.onDescribe = func() { panic("injected") }
	x := edge.Detached(t.Context(), request("GetItem"), []byte(getA), time.Now())
	s.Serve(x)
	if x.Record.Decision != telemetry.BypassUncacheable || s.metrics.faults.Value() != 1 {
		t.Errorf("got %s %s and %d faults, want a forwarded request and 1 fault", x.Record.Decision, x.Reply.Body, s.metrics.faults.Value())
	}
}

// TestTablesChangedByCBOR checks that a request that can't be parsed counts as a change of
// any table.
func TestTablesChangedByCBOR(t *testing.T) {
	s, p := withParrot(t)
	descriptions := 0
	p.onDescribe = func() { descriptions++ }
	get := func() telemetry.Decision {
		x := edge.Detached(t.Context(), request("GetItem"), []byte(getA), time.Now())
		s.Serve(x)
		return x.Record.Decision
	}
	get()
	if d := get(); d != telemetry.HitNegative || descriptions != 1 {
		t.Fatalf("got %s after %d descriptions, want a negative hit after 1", d, descriptions)
	}
	for i, op := range []string{"UpdateTable", "Frobnicate"} {
		path := "/service/DynamoDB_20120810/operation/" + op
		r := http1.Request{Method: []byte("POST"), Target: []byte(path), Path: []byte(path), Minor: 1}
		x := edge.Detached(t.Context(), r, []byte("\xa0"), time.Now())
		s.Serve(x)
		if d := get(); d == telemetry.HitNegative || descriptions != i+2 {
			t.Errorf("after %s: got %s and %d descriptions", op, d, descriptions)
		}
	}
}

// TestLeadingSpace checks that white space around a request's body is ignored.
func TestLeadingSpace(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{}`)
	f.expect("GetItem", "\n "+getA+"\n", telemetry.Miss, `{}`)
	f.expect("GetItem", getA, telemetry.HitNegative, `{}`)
}

// TestTimeLeft checks which TTL attributes have expired.
func TestTimeLeft(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := func(value string, expired bool) {
		t.Helper()
		if _, got := timeLeft([]byte(`{"e":`+value+`}`), "e", now); got != expired {
			t.Errorf("%s: got expired %v, want %v", value, got, expired)
		}
	}
	f(`{"N":"1799999999"}`, true)
	f(`{"N":"1799999999.5"}`, true)
	f(`{"N":"1.799999999e9"}`, true)
	f(`{"N":"1800000001"}`, false)
	f(`{"N":"9999999999"}`, false) // a common way of writing "never"
	f(`{"N":"9300000000"}`, false)
	f(`{"N":"1800000000000"}`, false) // milliseconds
	f(`{"N":"1600000000"}`, false)    // more than five years ago
	f(`{"N":"0"}`, false)
	f(`{"N":"-1"}`, false)
	f(`{"S":"1799999999"}`, false)
	f(`{"NS":["1799999999"]}`, false)
}

// TestUpdateOfManyPaths checks that an update that can't be projected here gets its
// ReturnValues from the origin.
func TestUpdateOfManyPaths(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("UpdateItem", `{"Attributes":{"a0":{"S":"x"}}}`)
	var sets []string
	for i := range 300 {
		sets = append(sets, fmt.Sprintf("a%d = :v", i))
	}
	f.do("UpdateItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET `+strings.Join(sets, ",")+
		`","ExpressionAttributeValues":{":v":{"S":"x"}},"ReturnValues":"UPDATED_NEW"}`)
	if asked := f.origins("UpdateItem"); !strings.Contains(asked[0].body, `"UPDATED_NEW"`) {
		t.Errorf("the origin received other ReturnValues: %s", asked[0].body[len(asked[0].body)-40:])
	}
}
