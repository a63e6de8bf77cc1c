package accel

import (
	"net/http"
	"testing"

	"github.com/kasoku/kasoku/internal/telemetry"
)

// A page that an intermediary sends with status 200 isn't a DynamoDB response: clients
// receive an error that they understand, and for a write one that reports an unknown
// outcome.
func TestResponseThatIsNotJSON(t *testing.T) {
	f := newFixture(t)
	f.origin.handler = func(op, _ string) (int, string) {
		if op == "DescribeTable" {
			return 0, ""
		}
		return http.StatusOK, "<html>It works!</html>"
	}
	want := func(op, body string, status int) {
		t.Helper()
		got := f.do(op, body)
		if got.status != status || got.decision == telemetry.Hit || sameJSON(got.body, "<html>It works!</html>") {
			t.Errorf("%s: %d %s %s; want status %d", op, got.status, got.decision, got.body, status)
		}
	}
	put := `{"TableName":"t","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`
	for range 2 {
		want("GetItem", getA, 503)
		want("GetItem", `{"TableName":"t","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ConsistentRead":true}`, 503)
		want("BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`, 503)
		want("Query", `{"TableName":"t","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}}`, 503)
		want("Scan", `{"TableName":"t"}`, 503)
		want("ListTables", `{}`, 503)
		want("PutItem", put, 500)
		want("BatchWriteItem", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}}]}}`, 500)
		want("UpdateTable", `{"TableName":"t"}`, 500)
	}
}

// A configuration whose origin can't be used changes nothing.
func TestReconfigureKeepsServiceOnError(t *testing.T) {
	f := newFixture(t)
	f.origin.reply("GetItem", `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	f.do("GetItem", getA)
	bad := f.cfg
	bad.Origin.URL, bad.ItemTTL = "ftp://127.0.0.1", 0
	if err := f.svc.Reconfigure(bad); err == nil {
		t.Fatal("an origin with an unknown scheme was accepted")
	}
	f.expect("GetItem", getA, telemetry.Hit, `{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
}
