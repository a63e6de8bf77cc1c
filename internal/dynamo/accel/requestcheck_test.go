package accel

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/cache"
	"github.com/kasoku/kasoku/internal/http1"
)

// TestEmptyBody sends requests without a body: the operation and the authorization are
// checked before the body.
func TestEmptyBody(t *testing.T) {
	signed := newFixture(t, func(c *Config, _ *cache.Config) { c.Keys = []Key{{ID: "A", Secret: "s"}} })
	open := newFixture(t)
	f := func(f *fixture, status int, want string, fields ...string) {
		t.Helper()
		r := request("GetItem")
		r.Fields = http1.FieldsOf(append(fields, "Host", "127.0.0.1")...)
		if got := f.send(r, ""); got.status != status || !strings.Contains(got.body, want) {
			t.Errorf("%v: got %d %s; want %s", fields, got.status, got.body, want)
		}
	}
	const target, get = "X-Amz-Target", "DynamoDB_20120810.GetItem"
	for _, s := range []*fixture{signed, open} {
		f(s, 400, "#UnknownOperationException")
		f(s, 400, "#UnknownOperationException", target, "Nothing")
		f(s, 400, "#UnknownOperationException", target, "Nothing", "Content-Type", jsonType)
		f(s, 400, "#UnknownOperationException", target, "Nothing", "Content-Type", "text/plain")
	}
	f(signed, 400, "#MissingAuthenticationTokenException", target, get, "Content-Type", jsonType)
	f(signed, 400, "Authorization header requires 'Credential' parameter. ", target, get, "Content-Type", jsonType, "Authorization", "AWS4-HMAC-SHA256")
	f(open, 400, "#SerializationException", target, get, "Content-Type", jsonType)
	f(open, 400, "#SerializationException", target, get)
}

// TestNesting sends documents nested far deeper than DynamoDB allows. They are rejected as
// too deep, not as malformed, and only after authorization.
func TestNesting(t *testing.T) {
	signed := newFixture(t, func(c *Config, _ *cache.Config) { c.Keys = []Key{{ID: "A", Secret: "s"}} })
	open := newFixture(t)
	put := func(open, inner, closing string, levels int) string {
		return `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":` + strings.Repeat(open, levels) + inner + strings.Repeat(closing, levels) + `}}`
	}
	const tooDeep = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	for _, levels := range []int{1000, 100_000} {
		for _, body := range []string{put(`{"L":[`, `{"S":"x"}`, `]}`, levels), put(`{"M":{"a":`, `{"S":"x"}`, `}}`, levels)} {
			if got := open.do("PutItem", body); got.status != 400 || !strings.Contains(got.body, "ValidationException") || !strings.Contains(got.body, tooDeep) {
				t.Errorf("%d levels: %d %s", levels, got.status, got.body)
			}
			if got := signed.do("PutItem", body); !strings.Contains(got.body, "MissingAuthenticationToken") {
				t.Errorf("%d levels, without a signature: %d %s", levels, got.status, got.body)
			}
			if got := open.do("PutItem", body[:len(body)-1]); got.status != 400 || !strings.Contains(got.body, "SerializationException") {
				t.Errorf("%d levels, cut off: %d %s", levels, got.status, got.body)
			}
		}
	}
}

// TestUndatedSignature checks that a service without keys still rejects a signature that has
// no date, and that it ignores other authorization schemes.
func TestUndatedSignature(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("ListTables", `{"TableNames":[]}`)
	const claim = "AWS4-HMAC-SHA256 Credential=a/20130301/us-east-1/dynamodb/aws4_request SignedHeaders=host Signature=0"
	send := func(want string, fields ...string) {
		t.Helper()
		r := request("ListTables")
		r.Fields = append(r.Fields, http1.FieldsOf(fields...)...)
		if got := f.send(r, "{}"); !strings.Contains(got.body, want) {
			t.Errorf("%v: got %d %s; want %s", fields, got.status, got.body, want)
		}
	}
	send("IncompleteSignatureException", "Authorization", claim)
	send("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. Authorization="+claim+`"`, "Authorization", claim)
	send(`"TableNames":[]`, "Authorization", claim, "X-Amz-Date", "20130301T000000Z")
	send(`"TableNames":[]`, "Authorization", "Basic eDp5")
	send(`"TableNames":[]`)
}

// TestThrottlingReasons checks that the origin's throttling details reach the client
// unchanged.
func TestThrottlingReasons(t *testing.T) {
	f := newFixture(t)
	const throttled = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded.",` +
		`"ThrottlingReasons":[{"reason":"TableReadProvisionedThroughputExceeded","resource":"arn:aws:dynamodb:us-east-1:123456789012:table/t"}]}`
	f.origin.handler = func(op, _ string) (int, string) {
		if op == "DescribeTable" {
			return 0, ""
		}
		return 400, throttled
	}
	for op, body := range map[string]string{
		"GetItem": getA, "Query": `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`,
		"PutItem": `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`,
	} {
		if got := f.do(op, body); got.status != 400 || got.body != throttled {
			t.Errorf("%s: got %d %s", op, got.status, got.body)
		}
	}
}
