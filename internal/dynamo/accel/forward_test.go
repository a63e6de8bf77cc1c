package accel

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/admin"
	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
	"github.com/kasoku/kasoku/internal/telemetry"
)

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
	for i := range MaxBatchKeys + 1 {
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

// TestLeadingSpace checks that white space around a request's body is ignored.
func TestLeadingSpace(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{}`)
	f.expect("GetItem", "\n "+getA+"\n", telemetry.Miss, `{}`)
	f.expect("GetItem", getA, telemetry.HitNegative, `{}`)
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

// TestTraceFields checks that requests to the origin have the trace fields of the client's request
// that causes them, and that those of a fill are not the next client's.
func TestTraceFields(t *testing.T) {
	o := newFixture(t)
	o.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	o.origin.reply("Query", `{"Items":[],"Count":0,"ScannedCount":0}`)
	o.origin.reply("BatchGetItem", `{"Responses":{"t":[]},"UnprocessedKeys":{}}`)
	o.origin.reply("PutItem", `{}`)
	o.origin.reply("ListTables", `{"TableNames":[]}`)
	const parent, state, ray = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=x", "Root=1-5759e988-bd862e3fe1be46a994272793"
	var got []string
	o.origin.spy = func(h http.Header) {
		got = append(got, strings.Join([]string{h.Get("Traceparent"), h.Get("Tracestate"), h.Get("X-Amzn-Trace-Id"), h.Get("X-Other")}, " "))
	}
	f := func(op, body string) {
		t.Helper()
		for _, traced := range []bool{true, false} {
			r := request(op)
			r.Fields = append(r.Fields, http1.FieldsOf("X-Other", "x")...)
			want := "   "
			if traced {
				want = parent + " " + state + " " + ray + " "
				r.Fields = append(r.Fields, http1.FieldsOf("traceparent", parent, "Tracestate", state, "X-Amzn-Trace-Id", ray)...)
			}
			if _, err := o.svc.Purge(t.Context(), admin.PurgeRequest{}); err != nil {
				t.Fatal(err)
			}
			got = nil
			o.send(r, body)
			if len(got) != 1 || got[0] != want {
				t.Errorf("%s: the origin received %q, want one request with the trace %q", op, got, want)
			}
		}
	}
	f("GetItem", getA)
	f("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ConsistentRead":true}`)
	f("Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"b"}}}`)
	f("BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`)
	f("PutItem", `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	f("ListTables", `{}`)
}
