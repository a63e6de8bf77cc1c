package accel

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
