package embedded

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTransactWriteItemsFaults(t *testing.T) {
	const token = `"ClientRequestToken":"t"`
	const none = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"
	const several = "TransactItems can only contain one of Check, Put, Update or Delete"
	items := func(actions ...string) string { return `"TransactItems":[` + strings.Join(actions, ",") + `]` }
	put := func(members string) string {
		return `{"Put":{"TableName":"abc","Item":{"a":{"S":"x"}}` + members + `}}`
	}
	large := `{"Put":{"TableName":"abc","Item":{"a":{"S":"` + strings.Repeat("x", maxItem) + `"}}}}`
	expectFaultsInOrder(t, "TransactWriteItems", token,
		fault{items(put(`,"ConditionExpression":""`), `{}`), none},
		fault{items(put(`,"ConditionExpression":""`), `{"Put":{"TableName":"abc","Item":{}},"Delete":{"TableName":"abc","Key":{}}}`), several},
		fault{items(put(`,"Item":{"a":{}},"ExpressionAttributeNames":{}`)), namesAlone},
		fault{items(put(`,"Item":{"a":{}},"ExpressionAttributeValues":{}`)), valuesUsed + "ConditionExpression is null"},
		fault{items(put(`,"Item":{"a":{}},"ConditionExpression":"","ExpressionAttributeNames":{}`)), noNames},
		fault{items(put(`,"Item":{"a":{}},"ConditionExpression":"","ExpressionAttributeValues":{}`)), noValues},
		fault{items(put(`,"Item":{"a":{}},"ConditionExpression":"","ExpressionAttributeNames":{"#u":"a"}`)), "Invalid ConditionExpression: The expression can not be empty;"},
		fault{items(put(`,"Item":{"a":{}},"ConditionExpression":"attribute_exists(a)","ExpressionAttributeNames":{"#u":"a"}`)), nameUnused},
		fault{items(put(`,"Item":{"a":{}},"ConditionExpression":"attribute_exists(a)","ExpressionAttributeValues":{":u":{"S":"a"}}`)), valUnused},
		fault{items(put(`,"Item":{"a":{}}`)), noType},
		fault{items(large), errItemSize.Message},
	)
	f := expectRefused(t, "TransactWriteItems")
	f(`{`+items(`{"Update":{"TableName":"abc","Key":{"a":{}},"UpdateExpression":"","ConditionExpression":"","ExpressionAttributeValues":{":v":{}}}}`)+`}`, valueEmpty)
	f(`{`+items(`{"Update":{"TableName":"abc","Key":{"a":{}},"UpdateExpression":"","ConditionExpression":""}}`)+`}`, "Invalid UpdateExpression: The expression can not be empty;")
	f(`{`+items(`{"Update":{"TableName":"abc","Key":{"a":{}},"UpdateExpression":"REMOVE b","ConditionExpression":""}}`)+`}`, "Invalid ConditionExpression: The expression can not be empty;")
	f(`{`+items(`{"Delete":{"TableName":"abc","Key":{"a":{}}}}`)+`}`, noType)
	f(`{`+items(`{"ConditionCheck":{"TableName":"abc","Key":{"a":{"N":"x"}},"ConditionExpression":"attribute_exists(a)"}}`)+`}`, "The parameter cannot be converted to a numeric value: x")
	// Actions are checked one after the other.
	f(`{`+items(put(`,"Item":{"a":{}}`), put(`,"ConditionExpression":""`))+`}`, noType)
	f(`{`+items(large, put(`,"ConditionExpression":""`))+`}`, errItemSize.Message)
	f(`{`+items(`{}`, `{"Put":{"TableName":"abc","Item":{}},"Delete":{"TableName":"abc","Key":{}}}`)+`}`, none)
	// Transactions have no legacy members.
	expectAccepted(t, "TransactWriteItems")(`{` + items(put(`,"Expected":{"a":{}},"ConditionalOperator":1`)) + `}`)
}

func TestParseTransactWriteItems(t *testing.T) {
	r := mustParse(t, "TransactWriteItems", parseTransactWriteItems, `{"TransactItems":[
		{"Put":{"TableName":"abc","Item":{"a":{"S":"x"}}}},
		{"Update":{"TableName":"abc","Key":{"b":{"S":"x"}},"UpdateExpression":"REMOVE c","ConditionExpression":"attribute_exists(d)"},"Put":null},
		{"Delete":{"TableName":"abc","Key":{"c":{"S":"x"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}},
		{"ConditionCheck":{"TableName":"xyz","Key":{"d":{"S":"x"}},"ConditionExpression":"attribute_exists(d)"}}],
		"ClientRequestToken":"t\u0031","ReturnConsumedCapacity":"TOTAL","ReturnItemCollectionMetrics":"SIZE"}`)
	var got []string
	for _, w := range r.Writes {
		got = append(got, fmt.Sprint(w.Kind, w.Table, w.Named, attributesText(&w.Item), w.Update != nil, w.Condition != nil, w.ReturnItemOnFailure, w.Return))
	}
	want := []string{
		`1abcabc{"a":{"S":"x"}}false false false 0`,
		`2abcabc{"b":{"S":"x"}}true true false 0`,
		`3abcabc{"c":{"S":"x"}}false false true 0`,
		`4xyzxyz{"d":{"S":"x"}}false true false 0`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) || r.Token != "t1" || r.Capacity != capacityTotal || !r.Metrics {
		t.Errorf("got  %q, %+v\nwant %q", got, r, want)
	}
}

func TestParseTransactGetItems(t *testing.T) {
	get := func(members string) string { return `{"Get":{"TableName":"abc","Key":{"a":{"S":"x"}}` + members + `}}` }
	expectFaultsInOrder(t, "TransactGetItems", `"ReturnConsumedCapacity":"TOTAL"`,
		fault{`"TransactItems":[` + get(`,"Key":{"a":{}},"ExpressionAttributeNames":{}`) + `]`, namesAlone},
		fault{`"TransactItems":[` + get(`,"Key":{"a":{}},"ExpressionAttributeNames":{},"ProjectionExpression":""`) + `]`, noNames},
		fault{`"TransactItems":[` + get(`,"Key":{"a":{}},"ProjectionExpression":""`) + `]`, "Invalid ProjectionExpression: The expression can not be empty;"},
		fault{`"TransactItems":[` + get(`,"Key":{"a":{}},"ProjectionExpression":"b","ExpressionAttributeNames":{"#u":"a"}`) + `]`, nameUnused},
		fault{`"TransactItems":[` + get(`,"Key":{"a":{}},"ProjectionExpression":"b"`) + `,` + get(`,"ProjectionExpression":""`) + `]`, noType},
	)
	r := mustParse(t, "TransactGetItems", parseTransactGetItems, `{"TransactItems":[`+get(`,"ProjectionExpression":"b","AttributesToGet":1`)+`,`+get(``)+`],"ReturnConsumedCapacity":"INDEXES"}`)
	if len(r.Gets) != 2 || r.Capacity != capacityIndexes || fmt.Sprint(r.Gets[0].Projection) != "[[b]]" || r.Gets[1].Projection != nil ||
		r.Gets[1].Table != "abc" || r.Gets[1].Named != "abc" || attributesText(&r.Gets[1].Key) != `{"a":{"S":"x"}}` || !r.Gets[1].Consistent {
		t.Errorf("got %+v", r)
	}
}
