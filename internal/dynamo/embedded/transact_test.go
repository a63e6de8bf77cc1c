package embedded

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/kasoku/kasoku/internal/testutil/race"
)

// transact returns a TransactWriteItems of the actions.
func transact(more string, actions ...string) string {
	return `{"TransactItems":[` + strings.Join(actions, ",") + `]` + more + `}`
}

const (
	actPut    = `{"Put":{"TableName":"plain","Item":{"p":{"S":"put"},"v":{"N":"1"}}}}`
	actUpdate = `{"Update":{"TableName":"plain","Key":{"p":{"S":"up"}},"UpdateExpression":"ADD v :v","ExpressionAttributeValues":{":v":{"N":"1"}}}}`
	actDelete = `{"Delete":{"TableName":"plain","Key":{"p":{"S":"del"}}}}`
	actCheck  = `{"ConditionCheck":{"TableName":"plain","Key":{"p":{"S":"check"}},"ConditionExpression":"attribute_exists(p)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}`
)

// expectCanceled checks that a transaction is cancelled for the reasons, as JSON.
func (s *Store) expectCanceled(t testing.TB, op, body string, codes string, reasons ...string) {
	t.Helper()
	status, got := s.send(t, op, body)
	want := `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"Transaction cancelled, please refer cancellation reasons for specific reasons [` +
		codes + `]","CancellationReasons":[` + strings.Join(reasons, ",") + `]}`
	if status != 400 || got != want {
		t.Errorf("%s %s:\ngot  %d %s\nwant 400 %s", op, body, status, got, want)
	}
}

const (
	none        = `{"Code":"None"}`
	checkFailed = `{"Code":"ConditionalCheckFailed","Message":"The conditional request failed"}`
)

// all returns the items of table plain that the tests use.
func (s *Store) all(t testing.TB) string {
	t.Helper()
	var found []string
	for _, p := range []string{"put", "up", "del", "check"} {
		if got := s.mustSend(t, "GetItem", `{"TableName":"plain","Key":{"p":{"S":"`+p+`"}}}`); got != `{}` {
			found = append(found, strings.TrimSuffix(strings.TrimPrefix(got, `{"Item":`), `}`))
		}
	}
	return strings.Join(found, " ")
}

func TestTransactWriteItems(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"del"}}}`)
	s.expectCanceled(t, "TransactWriteItems", transact("", actPut, actUpdate, actDelete, actCheck), "None, None, None, ConditionalCheckFailed", none, none, none, checkFailed)
	if got := s.all(t); got != `{"p":{"S":"del"}}` {
		t.Errorf("after a cancellation: %s", got)
	}
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"check"}}}`)
	s.expectReply(t, "TransactWriteItems", transact("", actPut, actUpdate, actDelete, actCheck), `{}`)
	if got := s.all(t); got != `{"p":{"S":"put"},"v":{"N":"1"}} {"p":{"S":"up"},"v":{"N":"1"}} {"p":{"S":"check"}}` {
		t.Errorf("after a transaction: %s", got)
	}
}

// TestCancellations cancels transactions for each possible reason.
func TestCancellations(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"old"},"t":{"S":"text"}}}`)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"big"},"v":{"S":"`+strings.Repeat("x", 400_000)+`"}}}`)
	before := s.mustSend(t, "Scan", `{"TableName":"plain"}`)
	failing := func(more string) string {
		return `{"Delete":{"TableName":"plain","Key":{"p":{"S":"old"}},"ConditionExpression":"attribute_not_exists(p)"` + more + `}}`
	}
	// Conditions: all that fail are reported.
	s.expectCanceled(t, "TransactWriteItems", transact("", failing(""), actPut, actCheck), "ConditionalCheckFailed, None, ConditionalCheckFailed", checkFailed, none, checkFailed)
	s.expectCanceled(t, "TransactWriteItems", transact("", failing(`,"ReturnValuesOnConditionCheckFailure":"ALL_OLD"`)), "ConditionalCheckFailed",
		`{"Code":"ConditionalCheckFailed","Message":"The conditional request failed","Item":{"p":{"S":"old"},"t":{"S":"text"}}}`)
	// An invalid action is reported alone, and only the first one.
	bad := func(action, message string) {
		t.Helper()
		reason := fmt.Sprintf(`{"Code":"ValidationError","Message":"%s"}`, message)
		s.expectCanceled(t, "TransactWriteItems", transact("", action), "ValidationError", reason)
		second := `{"Put":{"TableName":"plain","Item":{"p":{"N":"1"}}}}`
		if !strings.Contains(action, `"Update"`) || strings.Contains(message, "schema") {
			s.expectCanceled(t, "TransactWriteItems", transact("", failing(""), action, second), "None, ValidationError, None", none, reason, none)
		}
		s.expectCanceled(t, "TransactWriteItems", transact("", failing(""), action, actPut), "None, ValidationError, None", none, reason, none)
	}
	bad(`{"Put":{"TableName":"plain","Item":{"p":{"N":"5"}}}}`, "One or more parameter values were invalid: Type mismatch for key p expected: S actual: N")
	bad(`{"Put":{"TableName":"plain","Item":{"q":{"N":"5"}}}}`, "One or more parameter values were invalid: Missing the key p in the item")
	bad(`{"Put":{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"l":{"N":"5"}}}}`, "One or more parameter values were invalid: Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	bad(`{"Delete":{"TableName":"plain","Key":{"p":{"N":"5"}}}}`, mismatch)
	bad(`{"Delete":{"TableName":"plain","Key":{"p":{"S":"a"},"q":{"S":"b"}}}}`, mismatch)
	bad(`{"ConditionCheck":{"TableName":"plain","Key":{"p":{"L":[]}},"ConditionExpression":"attribute_exists(p)"}}`, mismatch)
	update := func(table, key, expression, value string) string {
		return `{"Update":{"TableName":"` + table + `","Key":` + key + `,"UpdateExpression":"` + expression + `","ExpressionAttributeValues":{":v":` + value + `}}}`
	}
	bad(update("plain", `{"p":{"N":"5"}}`, "SET t = :v", `{"S":""}`), mismatch)
	bad(update("range", `{"p":{"S":"a"},"s":{"N":"1"}}`, "SET l = :v", `{"N":"5"}`), "One or more parameter values were invalid: Type mismatch for Index Key l Expected: S Actual: N IndexName: byg")
	bad(update("plain", `{"p":{"S":"a"}}`, "SET p = :v", `{"N":"5"}`), "One or more parameter values were invalid: Cannot update attribute p. This attribute is part of the key")
	// old is the item in the reason, so another item is needed.
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"t":{"S":"text"}}}`)
	bad(update("range", `{"p":{"S":"a"},"s":{"N":"1"}}`, "SET t = t + :v", `{"N":"1"}`), "An operand in the update expression has an incorrect data type")
	bad(update("range", `{"p":{"S":"a"},"s":{"N":"1"}}`, "SET x.y = :v", `{"N":"1"}`), "The document path provided in the update expression is invalid for update")
	bad(update("plain", `{"p":{"S":"big"}}`, "SET w = :v", `{"S":"`+strings.Repeat("x", 10_000)+`"}`), "Item size to update has exceeded the maximum allowed size")
	if after := s.mustSend(t, "Scan", `{"TableName":"plain"}`); after != before {
		t.Error("a cancelled transaction changed an item")
	}
}

// TestTransactionRefusals sends transactions with errors that are reported before items are read.
func TestTransactionRefusals(t *testing.T) {
	if race.Enabled {
		return // all of it runs in one goroutine, and would be slow
	}
	s := withTables(t)
	f := func(message string, actions ...string) {
		t.Helper()
		s.expectError(t, "TransactWriteItems", transact("", actions...), "ValidationException", message)
		s.expectError(t, "TransactWriteItems", transact("", append([]string{actPut}, actions...)...), "ValidationException", message)
	}
	f(emptyText, `{"Put":{"TableName":"plain","Item":{"p":{"S":""}}}}`)
	f(emptyText, `{"Delete":{"TableName":"plain","Key":{"p":{"S":""}}}}`)
	f(emptyText, `{"ConditionCheck":{"TableName":"plain","Key":{"p":{"S":""}},"ConditionExpression":"attribute_exists(p)"}}`)
	f("One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty string value.",
		`{"Update":{"TableName":"range","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"SET l = :v","ExpressionAttributeValues":{":v":{"S":""}}}}`)
	f("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: byg, IndexKey: l",
		`{"Put":{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"l":{"S":""}}}}`)
	const same = "Transaction request cannot include multiple operations on one item"
	f(same, actUpdate, actDelete, actUpdate)
	f(same, actPut, `{"Delete":{"TableName":"plain","Key":{"p":{"S":"put"}}}}`)
	f(same, `{"Put":{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}}}}`, `{"Delete":{"TableName":"range","Key":{"s":{"N":"1.0"},"p":{"S":"a"}}}}`)
	f(same, `{"Put":{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"}}}}`, `{"Delete":{"TableName":"range","Key":{"s":{"S":"1"},"p":{"S":"a"}}}}`, actUpdate, actUpdate)
	f(same, strings.Replace(actDelete, "plain", "none", 1), strings.Replace(actDelete, "plain", "none", 1))
	big := func(i, size int) string {
		return fmt.Sprintf(`{"Put":{"TableName":"plain","Item":{"p":{"S":"b%02d"},"v":{"S":"%s"}}}}`, i, strings.Repeat("x", size-5))
	}
	f("Item size has exceeded the maximum allowed size", big(0, 409601))
	var actions []string
	for i := range 10 {
		actions = append(actions, big(i, 409600))
	}
	s.mustSend(t, "TransactWriteItems", transact("", append(actions, big(10, 98304))...))
	const tooLarge = "Transaction payload size cannot exceed 4MB. Payload Size: : Transaction payload size cannot exceed 4MB. Payload Size: 4194305"
	s.expectError(t, "TransactWriteItems", transact("", append(actions, big(10, 98305))...), "ValidationException", tooLarge)
	s.expectError(t, "TransactWriteItems", transact("", append(actions, strings.Replace(big(10, 98305), "plain", "none", 1))...), "ValidationException", tooLarge)
	s.expectError(t, "TransactWriteItems", transact("", append(actions, big(10, 98305), big(10, 98305))...), "ValidationException",
		"Transaction request cannot include multiple operations on one item")
	s.expectError(t, "TransactWriteItems", transact("", actDelete, strings.Replace(actPut, "plain", "none", 1)), "ResourceNotFoundException", "Requested resource not found")
}

func TestTransactGetItems(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"v":{"N":"1"}}}`)
	s.mustSend(t, "PutItem", `{"TableName":"range","Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"2"}}}`)
	get := func(table, key, more string) string {
		return `{"Get":{"TableName":"` + table + `","Key":` + key + more + `}}`
	}
	a := get("plain", `{"p":{"S":"a"}}`, "")
	s.expectReply(t, "TransactGetItems", transact("", get("range", `{"p":{"S":"a"},"s":{"N":"1"}}`, ""), get("plain", `{"p":{"S":"b"}}`, ""), a),
		`{"Responses":[{"Item":{"p":{"S":"a"},"s":{"N":"1"},"v":{"N":"2"}}},{},{"Item":{"p":{"S":"a"},"v":{"N":"1"}}}]}`)
	s.expectReply(t, "TransactGetItems", transact("", get("plain", `{"p":{"S":"a"}}`, `,"ProjectionExpression":"v"`)), `{"Responses":[{"Item":{"v":{"N":"1"}}}]}`)
	s.expectReply(t, "TransactGetItems", transact("", get("plain", `{"p":{"S":"a"}}`, `,"ProjectionExpression":"q"`)), `{"Responses":[{}]}`)
	s.expectCanceled(t, "TransactGetItems", transact("", a, get("plain", `{"p":{"N":"1"}}`, "")), "None, ValidationError", none, `{"Code":"ValidationError","Message":"`+mismatch+`"}`)
	s.expectError(t, "TransactGetItems", transact("", a, get("plain", `{"p":{"S":""}}`, "")), "ValidationException", emptyText)
	s.expectError(t, "TransactGetItems", transact("", a, a), "ValidationException", "Transaction request cannot include multiple operations on one item")
	s.expectError(t, "TransactGetItems", transact("", a, get("none", `{"p":{"S":"a"}}`, "")), "ResourceNotFoundException", "Requested resource not found")
	s.expectReply(t, "TransactGetItems", transact(`,"ReturnConsumedCapacity":"TOTAL"`, a, get("plain", `{"p":{"S":"b"}}`, "")),
		`{"Responses":[{"Item":{"p":{"S":"a"},"v":{"N":"1"}}},{}],"ConsumedCapacity":[{"TableName":"plain","CapacityUnits":4.0,"ReadCapacityUnits":4.0}]}`)
}

// TestTransactGetIsSnapshot moves a value back and forth between two items while transactions
// read both.
func TestTransactGetIsSnapshot(t *testing.T) {
	s := withTables(t)
	move := func(from, to string) string {
		return transact("", `{"Put":{"TableName":"plain","Item":{"p":{"S":"`+to+`"}}}}`, `{"Delete":{"TableName":"plain","Key":{"p":{"S":"`+from+`"}}}}`)
	}
	s.mustSend(t, "TransactWriteItems", move("b", "a"))
	var workers sync.WaitGroup
	done := make(chan struct{})
	workers.Go(func() {
		defer close(done)
		for range 300 {
			s.mustSend(t, "TransactWriteItems", move("a", "b"))
			s.mustSend(t, "TransactWriteItems", move("b", "a"))
		}
	})
	get := `{"Get":{"TableName":"plain","Key":{"p":{"S":"a"}}}},{"Get":{"TableName":"plain","Key":{"p":{"S":"b"}}}}`
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		got := s.mustSend(t, "TransactGetItems", transact("", get))
		if got != `{"Responses":[{"Item":{"p":{"S":"a"}}},{}]}` && got != `{"Responses":[{},{"Item":{"p":{"S":"b"}}}]}` {
			t.Fatalf("got %s, which isn't a snapshot", got)
		}
	}
	workers.Wait()
}
