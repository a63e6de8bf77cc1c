package differential

import (
	"net/http"
	"slices"
	"testing"
)

// TestDepartures checks that departures excuse only the differences that they describe.
func TestDepartures(t *testing.T) {
	refused := func(fault, body string) answer {
		return answer{status: http.StatusBadRequest, fault: fault, body: parsed(t, body)}
	}
	succeeded := func(body string) answer { return answer{status: http.StatusOK, body: parsed(t, body)} }
	ask := func(operation, body string, change ...func(*request)) request {
		r := request{operation: operation, body: parsed(t, body)}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	f := func(name string, r request, local, kasoku answer, want bool) {
		t.Helper()
		got := slices.ContainsFunc(departures, func(d departure) bool { return d.excuses != nil && d.excuses(r, local, kasoku) })
		if got != want {
			t.Errorf("%s: %s is excused: %t", name, r, got)
		}
	}
	damaged := func(r *request) { r.damaged = true }
	mistyped := func(r *request) { r.damaged, r.mistyped = true, true }
	removesNothing := func(r *request) { r.removesNothing = true }

	for operation, answers := range map[string]string{"PutItem": `{}`, "Query": `{"Items":[],"Count":0,"ScannedCount":0}`} {
		f("an error of ours alone", ask(operation, `{"TableName":"t"}`, damaged), succeeded(answers), refused("ValidationException", `{"message":"no"}`), false)
		f("a success of ours alone", ask(operation, `{"TableName":"t"}`, damaged), refused("ValidationException", `{"message":"no"}`), succeeded(answers), false)
		f("our internal failure", ask(operation, `{"TableName":"t"}`, damaged), succeeded(answers), answer{status: 500, fault: "InternalServerError", body: object{}}, false)
		f("another's internal failure", ask(operation, `{"TableName":"t"}`), answer{status: 500, fault: "InternalFailure", body: object{}}, succeeded(answers), true)
	}
	typed := refused("SerializationException", `{"Message":"no"}`)
	f("a type", ask("PutItem", `{"Item":1}`, mistyped), succeeded(`{}`), typed, true)
	f("a sound type", ask("PutItem", `{"Item":{}}`, damaged), succeeded(`{}`), typed, false)
	f("bad base64", ask("PutItem", `{"Item":{"p":{"B":"AB=="}}}`, damaged), succeeded(`{}`), typed, true)
	f("good base64", ask("PutItem", `{"Item":{"p":{"B":"AA=="}}}`, damaged), succeeded(`{}`), typed, false)
	long := refused("ValidationException", `{"message":"1 validation error detected: Value '' at 'x' failed to satisfy constraint: Member must satisfy enum value set: [A]"}`)
	f("a constraint", ask("PutItem", `{}`, damaged), succeeded(`{}`), long, true)
	f("a constraint on a sound request", ask("PutItem", `{}`), succeeded(`{}`), long, false)

	removal := `{"TableName":"t","Key":{},"UpdateExpression":"REMOVE a"}`
	f("a removal from nothing", ask("UpdateItem", removal, removesNothing), succeeded(`{"Attributes":{"p":{"S":"x"}}}`), succeeded(`{}`), true)
	f("a removal from an item", ask("UpdateItem", removal), succeeded(`{"Attributes":{"p":{"S":"x"}}}`), succeeded(`{}`), false)

	part := ask("UpdateItem", `{"UpdateExpression":"SET m.x = :a, l[0] = :b","ReturnValues":"UPDATED_OLD"}`)
	whole := succeeded(`{"Attributes":{"m":{"M":{"x":{"N":"1"},"y":{"N":"2"}}},"l":{"L":[{"S":"a"},{"S":"b"}]}}}`)
	f("what was updated", part, whole, succeeded(`{"Attributes":{"m":{"M":{"x":{"N":"1"}}},"l":{"L":[{"S":"a"}]}}}`), true)
	f("another value", part, whole, succeeded(`{"Attributes":{"m":{"M":{"x":{"N":"2"}}}}}`), false)
	f("another element", part, whole, succeeded(`{"Attributes":{"l":{"L":[{"S":"c"}]}}}`), false)
	f("another order", part, whole, succeeded(`{"Attributes":{"l":{"L":[{"S":"b"},{"S":"a"}]}}}`), false)
	f("part of what was updated as a whole", ask("UpdateItem", `{"UpdateExpression":"SET m = :a","ReturnValues":"UPDATED_OLD"}`), whole, succeeded(`{"Attributes":{}}`), false)

	cancelled := func(reasons string) answer {
		return refused("TransactionCanceledException", `{"CancellationReasons":[`+reasons+`]}`)
	}
	const none, wrong, failed = `{"Code":"None"}`, `{"Code":"ValidationError","Message":"no"}`, `{"Code":"ConditionalCheckFailed"}`
	transaction := ask("TransactWriteItems", `{"TransactItems":[]}`)
	f("a reason for a request's error", transaction, refused("ValidationException", `{}`), cancelled(none+","+wrong), true)
	f("reasons for one", transaction, cancelled(wrong), cancelled(none+","+wrong), true)
	f("a reason in place of conditions", transaction, cancelled(failed+","+failed), cancelled(none+","+wrong), false)
	f("another condition", transaction, cancelled(failed+","+none), cancelled(none+","+failed), false)
	f("a schema's reason in place of conditions", transaction, cancelled(failed+","+failed), cancelled(none+`,{"Code":"ValidationError","Message":"The provided key element does not match the schema"}`), true)
	f("an executed transaction", transaction, succeeded(`{}`), cancelled(none+","+failed), false)

	twice := refused("ValidationException", `{"message":"Transaction request cannot include multiple operations on one item"}`)
	f("an item in two spellings", ask("TransactWriteItems", `{"TransactItems":[{"Delete":{"Key":{"pN":{"N":"1.0"}}}},{"Delete":{"Key":{"pN":{"N":"1"}}}}]}`), succeeded(`{}`), twice, true)
	f("two items", ask("TransactWriteItems", `{"TransactItems":[{"Delete":{"Key":{"pN":{"N":"2"}}}},{"Delete":{"Key":{"pN":{"N":"1"}}}}]}`), succeeded(`{}`), twice, false)

	filter := `{"IndexName":"global-0","FilterExpression":"attribute_exists(b)"}`
	of := func(projection string) func(*request) {
		return func(r *request) { r.index = &index{projection: projection} }
	}
	f("a filter on what is not projected", ask("Scan", filter, of("KEYS_ONLY")), succeeded(`{"Items":[{}],"Count":1,"ScannedCount":1}`), succeeded(`{"Items":[],"Count":0,"ScannedCount":1}`), true)
	f("a filter on what is", ask("Scan", filter, of("ALL")), succeeded(`{"Items":[{}],"Count":1,"ScannedCount":1}`), succeeded(`{"Items":[],"Count":0,"ScannedCount":1}`), false)
	f("an index without an item", ask("Scan", filter, of("KEYS_ONLY")), succeeded(`{"Items":[{}],"Count":1,"ScannedCount":1}`), succeeded(`{"Items":[],"Count":0,"ScannedCount":0}`), false)

	surplus := refused("ValidationException", `{"message":"Number of parameters in request and statement don't match."}`)
	f("a surplus parameter", ask("ExecuteStatement", `{"Statement":"DELETE FROM t WHERE p = ?","Parameters":[{"S":"a"},{"S":"b"}]}`, damaged), succeeded(`{"Items":[]}`), surplus, true)
	f("as many parameters as places", ask("ExecuteStatement", `{"Statement":"DELETE FROM t WHERE p = ?","Parameters":[{"S":"a"}]}`, damaged), succeeded(`{"Items":[]}`), surplus, false)
	batch := ask("BatchExecuteStatement", `{"Statements":[]}`)
	bad := refused("ValidationException", `{"message":"The parameter cannot be converted to a numeric value: x"}`)
	f("a number of a statement", batch, bad, succeeded(`{"Responses":[{"Error":{"Code":"ValidationError","Message":"The parameter cannot be converted to a numeric value: x"}}]}`), true)
	f("an ignored number of a statement", batch, bad, succeeded(`{"Responses":[{}]}`), false)
	read := ask("TransactGetItems", `{}`)
	f("an empty item", read, succeeded(`{"Responses":[{"Item":{}},{"Item":{"a":{"S":"x"}}}]}`), succeeded(`{"Responses":[{},{"Item":{"a":{"S":"x"}}}]}`), true)
	f("a lost item", read, succeeded(`{"Responses":[{"Item":{"a":{"S":"x"}}}]}`), succeeded(`{"Responses":[{}]}`), false)
}
