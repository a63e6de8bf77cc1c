package plain

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/edge"
	"github.com/kasoku/kasoku/internal/http1"
)

const storedItem = `{"h":{"S":"a"},"num":{"N":"1"},"numlist":{"NS":["7","1","2","3","9","-7234234234.234234"]},"stringlist":{"SS":["pk1_b","pk1_a"]}}`
const plainItem = `{"h":"a","num":1,"numlist":[-7234234234.234234,1,2,3,7,9],"stringlist":["pk1_a","pk1_b"]}`

func TestGetItemJSON(t *testing.T) {
	f := newFixture(t)
	get := func(answer, want string) {
		t.Helper()
		f.setAnswer(http.StatusOK, answer)
		got := f.do("POST", "/GetItemJSON", `{"TableName":"t","Key":{"h":{"S":"a"}}}`)
		if got.status != http.StatusOK || got.body != want {
			t.Errorf("%s\n got %d %s\nwant %s", answer, got.status, got.body, want)
		}
		if got.head.Get("Content-Type") != "application/json" || len(got.head.Values("Content-Type")) != 1 || got.head.Get("x-amz-crc32") != "" ||
			got.head.Get("Cache-Status") != "kasoku; hit" {
			t.Errorf("got the fields %v", got.head)
		}
		f.expectRequests(`GetItem {"TableName":"t","Key":{"h":{"S":"a"}}}`)
	}
	get(`{"Item":`+storedItem+`}`, `{"Item":`+plainItem+`}`)
	get(`{}`, `{"Item":{}}`)
	get(` { } `, `{"Item":{}}`)
	get(`{"Item":{}}`, `{"Item":{}}`)
	get(`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5},"Item":{}}`)
	get(`{"ConsumedCapacity":{"CapacityUnits":0.5} , "Item":{"a":{"NULL":true}}}`, `{"ConsumedCapacity":{"CapacityUnits":0.5},"Item":{"a":null}}`)
}

// TestGetItemJSONInvalidAnswer checks that an answer that DynamoDB does not send is reported as an
// error of the origin.
func TestGetItemJSONInvalidAnswer(t *testing.T) {
	f := newFixture(t)
	for _, answer := range []string{`[]`, `"x"`, `{"Item":[]}`, `{"Item":{"a":1}}`, `{"Item":{"a":{"X":"x"}}}`} {
		f.setAnswer(http.StatusOK, answer)
		got := f.expect("POST", "/GetItemJSON", `{}`, http.StatusInternalServerError,
			errorBody("InternalServerError", "The origin's answer has a form that DynamoDB's does not have"))
		if len(got.head.Values("Cache-Status")) != 1 {
			t.Errorf("%s: got the fields %v", answer, got.head)
		}
	}
}

// TestErrorsAreRelayed checks that errors are relayed with their status.
func TestErrorsAreRelayed(t *testing.T) {
	f := newFixture(t)
	paths := []string{"/GetItemJSON", "/PutItemJSON", "/GetItem", "/BatchGetItemJSON", "/BatchWriteItemJSON"}
	for status, body := range map[int]string{
		400: errorBody("ValidationException", "One or more parameter values were invalid"),
		413: ``,
		500: errorBody("InternalServerError", "Internal server error"),
		503: errorBody("ServiceUnavailable", "later"),
	} {
		f.setAnswer(status, body)
		for _, path := range paths {
			got := f.expect("POST", path, `{"TableName":"t"}`, status, body)
			if got.head.Get("Content-Type") != "application/json" || got.head.Get("x-amz-crc32") != "4711" {
				t.Errorf("%s: got the fields %v", path, got.head)
			}
		}
	}
}

func TestPutItemJSON(t *testing.T) {
	f := newFixture(t)
	put := func(body, want string) {
		t.Helper()
		f.expect("POST", "/PutItemJSON", body, http.StatusOK, `{}`)
		f.expectRequests("PutItem " + want)
	}
	put(`{"TableName":"t","Item":{"h":"a","n":[7,7,1],"e":"","z":null}}`,
		`{"TableName":"t","Item":{"h":{"S":"a"},"n":{"NS":["7","1"]},"e":{"S":""},"z":{"NULL":true}}}`)
	// All other members are unchanged, including newer ones.
	put(`{"Item":{"a":1}, "ExpressionAttributeValues":{":a":{"N":"1"}} ,"ReturnValuesOnConditionCheckFailure":"ALL_OLD","Other":[1,{"Item":{"a":1}}]}`,
		`{"Item":{"a":{"N":"1"}}, "ExpressionAttributeValues":{":a":{"N":"1"}} ,"ReturnValuesOnConditionCheckFailure":"ALL_OLD","Other":[1,{"Item":{"a":1}}]}`)
	put(`{"\u0049tem":{"a":1}}`, `{"\u0049tem":{"a":{"N":"1"}}}`)
	// A body without an item is forwarded, for the service to reject.
	put(`{"TableName":"t"}`, `{"TableName":"t"}`)
	put(`{"Item":[1]}`, `{"Item":[1]}`)
	put(`{"Item":null}`, `{"Item":null}`)
	put(`{}`, `{}`)
	put(`[]`, `[]`)
	// The answer is relayed unchanged.
	f.setAnswer(http.StatusOK, `{"Attributes":{"a":{"NS":["2","1"]}}}`)
	f.expect("POST", "/PutItemJSON", `{"TableName":"t","Item":{}}`, http.StatusOK, `{"Attributes":{"a":{"NS":["2","1"]}}}`)
}

func TestMalformedJSON(t *testing.T) {
	f := newFixture(t)
	want := errorBody("SerializationException", "The request's body is not JSON, or it nests too deep")
	deep := `{"Item":{"a":` + strings.Repeat("[", wire.MaxDepth) + strings.Repeat("]", wire.MaxDepth) + `}}`
	for _, path := range []string{"/PutItemJSON", "/BatchGetItem", "/BatchGetItemJSON", "/BatchWriteItem", "/BatchWriteItemJSON"} {
		for _, body := range []string{``, `{`, `{"Item":{"a":01}}`, `{"Item":}`, `nope`, `{} {}`, deep} {
			f.expect("POST", path, body, http.StatusBadRequest, want)
		}
	}
	f.expectRequests()
}

// TestPutItemJSONTooLarge checks that a small request can't be expanded into a huge one.
func TestPutItemJSONTooLarge(t *testing.T) {
	f := newFixture(t)
	want := errorBody("ValidationException", "The request has more than 16 MiB with its items as attribute values")
	array := `[true` + strings.Repeat(`,1`, maxBody/10) + `]`
	f.expect("POST", "/PutItemJSON", `{"Item":{"a":`+array+`}}`, http.StatusRequestEntityTooLarge, want)
	f.expect("POST", "/BatchWriteItemJSON", `{"RequestItems":{"t":[{"PutRequest":{"Item":{"a":`+array+`}}}]}}`, http.StatusRequestEntityTooLarge, want)
	half := `{"PutRequest":{"Item":{"a":[true` + strings.Repeat(`,1`, maxBody/20) + `]}}}`
	f.expect("POST", "/BatchWriteItemJSON", `{"RequestItems":{"t":[`+half+`,`+half+`]}}`, http.StatusRequestEntityTooLarge, want)
	f.expectRequests()
	f.expect("POST", "/PutItemJSON", `{"Item":{"a":[true`+strings.Repeat(`,1`, maxBody/100)+`]}}`, http.StatusOK, `{}`)
}

// TestArrays checks how the service and its tables can configure the conversion of arrays.
func TestArrays(t *testing.T) {
	f := newFixture(t)
	yes, no := true, false
	f.h.Configure(Config{Lists: true, Tables: []TableRule{{Pattern: "set-*", Lists: &no}, {Pattern: "quiet"}, {Pattern: "*", Lists: &no}}})
	set, list := `{"NS":["1"]}`, `{"L":[{"N":"1"},{"N":"1"}]}`
	put := func(table, want string) {
		t.Helper()
		name := string(wire.AppendQuoted(nil, []byte(table)))
		f.do("POST", "/PutItemJSON", `{"TableName":`+name+`,"Item":{"a":[1,1]}}`)
		f.expectRequests(`PutItem {"TableName":` + name + `,"Item":{"a":` + want + `}}`)
		f.do("POST", "/BatchWriteItemJSON", `{"RequestItems":{`+name+`:[{"PutRequest":{"Item":{"a":[1,1]}}}]}}`)
		f.expectRequests(`BatchWriteItem {"RequestItems":{` + name + `:[{"PutRequest":{"Item":{"a":` + want + `}}}]}}`)
	}
	put("set-1", set)
	put("arn:aws:dynamodb:us-east-1:123456789012:table/set-1", set)
	put("quiet", list)
	put("other", set)
	f.h.Configure(Config{Tables: []TableRule{{Pattern: "list-*", Lists: &yes}, {Pattern: "quiet"}}})
	put("list-1", list)
	put("quiet", set)
	put("other", set)
	// A request without a table name uses the service's setting.
	f.do("POST", "/PutItemJSON", `{"Item":{"a":[1,1]}}`)
	f.expectRequests(`PutItem {"Item":{"a":` + set + `}}`)
}

// TestArraysInOneBatch checks that each item of a batch has the setting of its table.
func TestArraysInOneBatch(t *testing.T) {
	f := newFixture(t)
	yes := true
	f.h.Configure(Config{Tables: []TableRule{{Pattern: "l", Lists: &yes}}})
	f.do("POST", "/BatchWriteItemJSON", `{"RequestItems":{"l":[{"PutRequest":{"Item":{"a":["x"]}}}],"s":[{"PutRequest":{"Item":{"a":["x"]}}},{"DeleteRequest":{"Key":{"a":{"S":"x"}}}}]}}`)
	f.expectRequests(`BatchWriteItem {"RequestItems":{"l":[{"PutRequest":{"Item":{"a":{"L":[{"S":"x"}]}}}}],"s":[{"PutRequest":{"Item":{"a":{"SS":["x"]}}}},{"DeleteRequest":{"Key":{"a":{"S":"x"}}}}]}}`)
}

// TestRecordOutlivesTheTask checks that the table name of the access log, which is written after
// the exchange, does not refer to memory that the next exchange writes to.
func TestRecordOutlivesTheTask(t *testing.T) {
	f := newFixture(t)
	put := func(table string) *edge.Exchange {
		r := http1.Request{Method: []byte("POST"), Path: []byte("/PutItemJSON")}
		x := edge.Detached(t.Context(), r, []byte(`{"TableName":"`+table+`","Item":{"a":1}}`), time.Now())
		f.h.Serve(x)
		return x
	}
	x := put("first")
	for range 20 {
		put("other")
	}
	if string(x.Record.Table) != `"first"` {
		t.Errorf("the record has the table %s", x.Record.Table)
	}
}
