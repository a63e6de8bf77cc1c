package embedded

import (
	"fmt"
	"strings"
	"testing"
)

// expectReply sends a request and compares the exact reply.
func (s *Store) expectReply(t testing.TB, op, body, want string) {
	t.Helper()
	if got := s.mustSend(t, op, body); got != want {
		t.Errorf("%s %s:\ngot  %s\nwant %s", op, body, got, want)
	}
}

func TestGetItem(t *testing.T) {
	s := withTables(t)
	s.expectReply(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"n":{"N":"1.50e1"},"m":{"M":{"x":{"L":[{"S":"0"},{"S":"1"}]}}}}}`, `{}`)
	get := func(more, want string) {
		t.Helper()
		s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}`+more+`}`, want)
	}
	const item = `{"p":{"S":"a"},"n":{"N":"15"},"m":{"M":{"x":{"L":[{"S":"0"},{"S":"1"}]}}}}`
	get(``, `{"Item":`+item+`}`)
	get(`,"ConsistentRead":true`, `{"Item":`+item+`}`)
	get(`,"ProjectionExpression":"m.x[1], n"`, `{"Item":{"n":{"N":"15"},"m":{"M":{"x":{"L":[{"S":"1"}]}}}}}`)
	get(`,"ProjectionExpression":"q"`, `{"Item":{}}`)
	get(`,"AttributesToGet":["p","q"]`, `{"Item":{"p":{"S":"a"}}}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"b"}}}`, `{}`)
	s.expectReply(t, "GetItem", `{"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/plain","Key":{"p":{"S":"a"}}}`, `{"Item":`+item+`}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"b"}},"ReturnConsumedCapacity":"TOTAL"}`, `{"ConsumedCapacity":{"TableName":"plain","CapacityUnits":0.5}}`)
}

// TestNoTable names a missing table in every operation on items.
func TestNoTable(t *testing.T) {
	s := newStore(t)
	f := func(op, body string) {
		t.Helper()
		s.expectError(t, op, body, "ResourceNotFoundException", "Requested resource not found")
	}
	f("GetItem", `{"TableName":"none","Key":{"p":{"S":"a"}}}`)
	f("PutItem", `{"TableName":"none","Item":{}}`)
	f("UpdateItem", `{"TableName":"none","Key":{"p":{"S":"a"}}}`)
	f("DeleteItem", `{"TableName":"none","Key":{"p":{"S":""}}}`)
	f("BatchGetItem", `{"RequestItems":{"none":{"Keys":[{"p":{"S":"a"}}]}}}`)
	f("BatchWriteItem", `{"RequestItems":{"none":[{"PutRequest":{"Item":{}}}]}}`)
	f("TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"none","Key":{"p":{"S":"a"}}}}]}`)
	f("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"none","Item":{}}}]}`)
	// Expressions are checked before the table is looked up.
	s.expectError(t, "DeleteItem", `{"TableName":"none","Key":{"p":{"S":"a"}},"ConditionExpression":""}`, "ValidationException", oneError+"Invalid ConditionExpression: The expression can not be empty;")
}

// TestReturnValues requests every ReturnValues of every write, first without an item, then with
// one.
func TestReturnValues(t *testing.T) {
	const (
		put    = `{"TableName":"plain","Item":{"p":{"S":"a"},"x":{"N":"2"},"y":{"S":"new"}}`
		del    = `{"TableName":"plain","Key":{"p":{"S":"a"}}`
		update = `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"SET m.k = :k, y = :y, l[9] = :y REMOVE l[0], z","ExpressionAttributeValues":{":k":{"N":"9"},":y":{"S":"new"}}`
		fresh  = `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"SET y = :y, x = if_not_exists(x, :y)","ExpressionAttributeValues":{":y":{"S":"new"}}`
		remove = `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"REMOVE y, q.r DELETE ss :s","ExpressionAttributeValues":{":s":{"SS":["a"]}}`
		old    = `{"p":{"S":"a"},"m":{"M":{"k":{"S":"was"},"o":{"S":"other"}}},"l":{"L":[{"S":"0"},{"S":"1"},{"S":"2"}]}}`
	)
	f := func(exists bool, op, body, mode, want string) {
		t.Helper()
		s := withTables(t)
		if exists {
			s.mustSend(t, "PutItem", `{"TableName":"plain","Item":`+old+`}`)
		}
		if want != "" {
			want = `"Attributes":` + want
		}
		s.expectReply(t, op, body+`,"ReturnValues":"`+mode+`"}`, `{`+want+`}`)
	}
	for _, op := range []struct{ name, body string }{{"PutItem", put}, {"DeleteItem", del}} {
		f(false, op.name, op.body, "NONE", ``)
		f(false, op.name, op.body, "ALL_OLD", ``)
		f(true, op.name, op.body, "NONE", ``)
		f(true, op.name, op.body, "ALL_OLD", old)
	}
	f(false, "UpdateItem", fresh, "NONE", ``)
	f(false, "UpdateItem", fresh, "ALL_OLD", ``)
	f(false, "UpdateItem", fresh, "UPDATED_OLD", ``)
	f(false, "UpdateItem", fresh, "ALL_NEW", `{"p":{"S":"a"},"y":{"S":"new"},"x":{"S":"new"}}`)
	f(false, "UpdateItem", fresh, "UPDATED_NEW", `{"y":{"S":"new"},"x":{"S":"new"}}`)
	f(true, "UpdateItem", update, "NONE", ``)
	f(true, "UpdateItem", update, "ALL_OLD", old)
	f(true, "UpdateItem", update, "UPDATED_OLD", `{"m":{"M":{"k":{"S":"was"}}},"l":{"L":[{"S":"0"}]}}`)
	f(true, "UpdateItem", update, "ALL_NEW", `{"p":{"S":"a"},"m":{"M":{"k":{"N":"9"},"o":{"S":"other"}}},"l":{"L":[{"S":"1"},{"S":"2"},{"S":"new"}]},"y":{"S":"new"}}`)
	f(true, "UpdateItem", update, "UPDATED_NEW", `{"m":{"M":{"k":{"N":"9"}}},"l":{"L":[{"S":"1"}]},"y":{"S":"new"}}`)
	// An update that only removes attributes creates no item.
	for _, mode := range []string{"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"} {
		f(false, "UpdateItem", remove, mode, ``)
	}
	// An update without actions creates an item from the key.
	const nothing = `{"TableName":"plain","Key":{"p":{"S":"a"}}`
	f(false, "UpdateItem", nothing, "ALL_NEW", `{"p":{"S":"a"}}`)
	f(true, "UpdateItem", nothing, "ALL_NEW", old)
	f(false, "UpdateItem", nothing+`,"AttributeUpdates":{}`, "ALL_NEW", `{"p":{"S":"a"}}`)
	f(false, "UpdateItem", nothing, "UPDATED_NEW", ``)
	f(false, "UpdateItem", nothing+`,"AttributeUpdates":{"x":{"Action":"DELETE"}}`, "ALL_NEW", ``)
	f(false, "UpdateItem", nothing+`,"AttributeUpdates":{"x":{"Action":"ADD","Value":{"N":"3"}}}`, "ALL_NEW", `{"p":{"S":"a"},"x":{"N":"3"}}`)
}

// TestRemoveCreatesNoItem checks that an update that only removes attributes creates no item.
func TestRemoveCreatesNoItem(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"REMOVE x.y"}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{}`)
	s.mustSend(t, "UpdateItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`)
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{"Item":{"p":{"S":"a"}}}`)
}

// TestConditions sends writes whose conditions hold or fail, and requests the item on failure.
func TestConditions(t *testing.T) {
	const (
		old  = `{"p":{"S":"a"},"v":{"N":"1"}}`
		fail = `"ConditionExpression":"v > :one","ExpressionAttributeValues":{":one":{"N":"1"}}`
		hold = `"ConditionExpression":"v = :one","ExpressionAttributeValues":{":one":{"N":"1"}}`
	)
	f := func(op, body string) {
		t.Helper()
		s := withTables(t)
		get := func(want string) {
			t.Helper()
			s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, want)
		}
		refused := func(more, item string) {
			t.Helper()
			status, got := s.send(t, op, `{"TableName":"plain",`+body+`,`+more+`}`)
			want := `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed"` + item + `}`
			if status != 400 || got != want {
				t.Errorf("%s %s:\ngot  %d %s\nwant 400 %s", op, more, status, got, want)
			}
		}
		refused(fail, "")
		refused(fail+`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`, "")
		get(`{}`)
		s.mustSend(t, "PutItem", `{"TableName":"plain","Item":`+old+`}`)
		refused(fail, "")
		refused(fail+`,"ReturnValuesOnConditionCheckFailure":"NONE"`, "")
		refused(fail+`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`, `,"Item":`+old)
		refused(`"Expected":{"v":{"Exists":false}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`, `,"Item":`+old)
		get(`{"Item":` + old + `}`)
		s.mustSend(t, op, `{"TableName":"plain",`+body+`,`+hold+`}`)
		if got := s.mustSend(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`); strings.Contains(got, `"v":{"N":"1"}`) {
			t.Errorf("%s: %s is still there", op, got)
		}
	}
	f("PutItem", `"Item":{"p":{"S":"a"}}`)
	f("DeleteItem", `"Key":{"p":{"S":"a"}}`)
	// The values of the update and of the condition are in one list.
	s := withTables(t)
	update := func(condition string) string {
		return fmt.Sprintf(`{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"ADD v :one","ConditionExpression":%q,"ExpressionAttributeValues":{":one":{"N":"1"}}}`, condition)
	}
	s.expectError(t, "UpdateItem", update("attribute_exists(v)"), "ConditionalCheckFailedException", "The conditional request failed")
	s.mustSend(t, "UpdateItem", update("attribute_not_exists(v)"))
	s.mustSend(t, "UpdateItem", update("v = :one"))
	s.expectError(t, "UpdateItem", update("v = :one"), "ConditionalCheckFailedException", "The conditional request failed")
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{"Item":{"p":{"S":"a"},"v":{"N":"2"}}}`)
}

// TestUpdateFaults sends updates that are invalid for the item. The condition is evaluated
// first.
func TestUpdateFaults(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"t":{"S":"text"}}}`)
	f := func(update, message string) {
		t.Helper()
		body := `{"TableName":"plain","Key":{"p":{"S":"a"}},"UpdateExpression":"` + update + `","ExpressionAttributeValues":{":n":{"N":"1"}}`
		s.expectError(t, "UpdateItem", body+`}`, "ValidationException", message)
		s.expectError(t, "UpdateItem", body+`,"ConditionExpression":"attribute_exists(q)"}`, "ConditionalCheckFailedException", "The conditional request failed")
	}
	f("SET t = t + :n", "An operand in the update expression has an incorrect data type")
	f("ADD t :n", "An operand in the update expression has an incorrect data type")
	f("SET x = q, y = :n", "The provided expression refers to an attribute that does not exist in the item")
	f("SET q.r = :n", "The document path provided in the update expression is invalid for update")
	s.expectReply(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"a"}}}`, `{"Item":{"p":{"S":"a"},"t":{"S":"text"}}}`)
}

// TestItemCollectionMetrics requests the metrics of tables with and without collections.
func TestItemCollectionMetrics(t *testing.T) {
	s := withTables(t)
	const metrics = `{"ItemCollectionKey":{"p":{"S":"a"}},"SizeEstimateRangeGB":[0.0,1.0]}`
	f := func(op, body, want string) {
		t.Helper()
		s.expectReply(t, op, `{`+body+`,"ReturnItemCollectionMetrics":"SIZE"}`, want)
		s.mustSend(t, op, `{`+body+`,"ReturnItemCollectionMetrics":"NONE"}`)
	}
	f("PutItem", `"TableName":"plain","Item":{"p":{"S":"a"}}`, `{}`)
	f("PutItem", `"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}}`, `{"ItemCollectionMetrics":`+metrics+`}`)
	f("UpdateItem", `"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}`, `{"ItemCollectionMetrics":`+metrics+`}`)
	f("DeleteItem", `"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}`, `{"ItemCollectionMetrics":`+metrics+`}`)
	f("BatchWriteItem", `"RequestItems":{"plain":[{"PutRequest":{"Item":{"p":{"S":"a"}}}}]}`, `{"UnprocessedItems":{}}`)
	f("BatchWriteItem", `"RequestItems":{"range":[{"PutRequest":{"Item":{"p":{"S":"a"},"s":{"N":"1"}}}},{"DeleteRequest":{"Key":{"p":{"S":"a"},"s":{"N":"2"}}}},{"DeleteRequest":{"Key":{"p":{"S":"b"},"s":{"N":"2"}}}}]}`,
		`{"UnprocessedItems":{},"ItemCollectionMetrics":{"range":[`+metrics+`,`+strings.Replace(metrics, `"a"`, `"b"`, 1)+`]}}`)
	f("TransactWriteItems", `"TransactItems":[{"Put":{"TableName":"plain","Item":{"p":{"S":"a"}}}},{"Delete":{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}}}},{"ConditionCheck":{"TableName":"range","Key":{"p":{"S":"c"},"s":{"N":"1"}},"ConditionExpression":"attribute_not_exists(p)"}}]`,
		`{"ItemCollectionMetrics":{"range":[`+metrics+`]}}`)
}
