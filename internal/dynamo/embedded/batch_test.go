package embedded

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
	"github.com/kasoku/kasoku/internal/testutil/race"
)

func TestBatchGetItem(t *testing.T) {
	s := withTables(t)
	for i := range 3 {
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"plain","Item":{"p":{"S":"%d"},"v":{"N":"%d"}}}`, i, i))
	}
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}}`)
	s.expectReply(t, "BatchGetItem", `{"RequestItems":{"range":{"Keys":[{"s":{"N":"1.0"},"p":{"S":"a"}},{"p":{"S":"a"},"s":{"N":"2"}}]},
		"plain":{"Keys":[{"p":{"S":"2"}},{"p":{"S":"none"}},{"p":{"S":"0"}}],"ProjectionExpression":"v"}}}`,
		`{"Responses":{"range":[{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}],"plain":[{"v":{"N":"2"}},{"v":{"N":"0"}}]},"UnprocessedKeys":{}}`)
	s.expectReply(t, "BatchGetItem", `{"RequestItems":{"plain":{"Keys":[{"p":{"S":"none"}}]}}}`, `{"Responses":{"plain":[]},"UnprocessedKeys":{}}`)
	s.expectReply(t, "BatchGetItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"plain":{"Keys":[{"p":{"S":"none"}},{"p":{"S":"1"}}]},"range":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}],"ConsistentRead":true}}}`,
		`{"Responses":{"plain":[{"p":{"S":"1"},"v":{"N":"1"}}],"range":[{"p":{"S":"a"},"s":{"N":"1"},"v":{"S":"x"}}]},"UnprocessedKeys":{},"ConsumedCapacity":[{"TableName":"plain","CapacityUnits":1.0},{"TableName":"range","CapacityUnits":1.0}]}`)
	s.expectError(t, "BatchGetItem", `{"RequestItems":{"plain":{"Keys":[{"p":{"S":"1"}}]},"none":{"Keys":[{"p":{"S":"1"}}]}}}`, "ResourceNotFoundException", "Requested resource not found")
	s.expectError(t, "BatchGetItem", `{"RequestItems":{"plain":{"Keys":[{"p":{"S":"1"}},{"p":{"S":"1"}}]}}}`, "ValidationException", "Provided list of item keys contains duplicates")
}

// TestBatchGetLimit reads more than a batch may return: the rest is returned as UnprocessedKeys.
func TestBatchGetLimit(t *testing.T) {
	if race.Enabled {
		return // all of it runs in one goroutine, and would be slow
	}
	s := withTables(t)
	const size = 400_000 // 41 of them are 16.4 MB, 16 MiB is 16.8 MB
	var keys []string
	for i := range 45 {
		key := fmt.Sprintf(`{"p":{"S":"%02d"}}`, i)
		keys = append(keys, key)
		s.mustSend(t, "PutItem", fmt.Sprintf(`{"TableName":"plain","Item":{"p":{"S":"%02d"},"v":{"S":"%s"}}}`, i, strings.Repeat("x", size-4)))
	}
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}}}`)
	rest := `"ProjectionExpression":"#p","ExpressionAttributeNames":{"#p":"p"},"ConsistentRead":true`
	got := s.mustSend(t, "BatchGetItem", `{"ReturnConsumedCapacity":"TOTAL","RequestItems":{"plain":{"Keys":[`+strings.Join(keys, ",")+`],`+rest+`},"range":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}}}`)
	want := `{"Responses":{"plain":[` + strings.Join(keys[:41], ",") + `],"range":[]},"UnprocessedKeys":{"plain":{"Keys":[` + strings.Join(keys[41:], ",") +
		`],"ProjectionExpression":"#p","ExpressionAttributeNames":{"#p":"p"},"ConsistentRead":true},"range":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}},` +
		`"ConsumedCapacity":[{"TableName":"plain","CapacityUnits":4018.0},{"TableName":"range","CapacityUnits":0.0}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	left, _ := wire.Lookup([]byte(got), "UnprocessedKeys")
	got = s.mustSend(t, "BatchGetItem", `{"RequestItems":`+string(left)+`}`)
	want = `{"Responses":{"plain":[` + strings.Join(keys[41:], ",") + `],"range":[{"p":{"S":"a"},"s":{"N":"1"}}]},"UnprocessedKeys":{}}`
	if got != want {
		t.Errorf("UnprocessedKeys: got  %s\nwant %s", got, want)
	}
}

func TestBatchWriteItem(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"old"}}}`)
	s.expectReply(t, "BatchWriteItem", `{"RequestItems":{"plain":[{"PutRequest":{"Item":{"p":{"S":"a"},"v":{"N":"1"}}}},{"DeleteRequest":{"Key":{"p":{"S":"old"}}}},{"DeleteRequest":{"Key":{"p":{"S":"none"}}}}],
		"range":[{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"2"}}}}]},"ReturnConsumedCapacity":"TOTAL"}`,
		`{"UnprocessedItems":{},"ConsumedCapacity":[{"TableName":"plain","CapacityUnits":3.0},{"TableName":"range","CapacityUnits":1.0}]}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{"Item":{"p":{"S":"a"},"v":{"N":"1"}}}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"old"}}}`, `{}`)
	s.expectReply(t, "GetItem", `{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}}`, `{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"2"}}}`)
}

// TestInvalidBatchWritesNothing checks that nothing of a batch with an invalid member is
// written.
func TestInvalidBatchWritesNothing(t *testing.T) {
	s := withTables(t)
	f := func(table, bad, typ, message string) {
		t.Helper()
		s.expectError(t, "BatchWriteItem", `{"RequestItems":{"plain":[{"PutRequest":{"Item":{"p":{"S":"a"}}}}],"`+table+`":[`+bad+`]}}`, typ, message)
		s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{}`)
	}
	f("range", `{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"S":"1"}}}}`, "ValidationException", mismatch)
	f("range", `{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}`, "ValidationException", mismatch)
	f("none", `{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}`, "ResourceNotFoundException", "Requested resource not found")
	const duplicates = "Provided list of item keys contains duplicates"
	one := `{"PutRequest":{"Item":{"p":{"S":"x"},"s":{"N":"1"},"v":{"S":"y"}}}}`
	f("range", one+`,`+one, "ValidationException", duplicates)
	f("range", one+`,{"DeleteRequest":{"Key":{"p":{"S":"x"},"s":{"N":"1"}}}}`, "ValidationException", duplicates)
	f("range", one+`,{"DeleteRequest":{"Key":{"s":{"N":"10e-1"},"p":{"S":"x"}}}}`, "ValidationException", duplicates)
}
