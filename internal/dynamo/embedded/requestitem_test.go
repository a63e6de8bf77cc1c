package embedded

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseGetItemFaults(t *testing.T) {
	const base = `"TableName":"abc","Key":{"a":{"S":"x"}}`
	expectFaultsInOrder(t, "GetItem", base,
		fault{`"AttributesToGet":["a"],"ProjectionExpression":"a"`, mixed + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
		fault{`"ExpressionAttributeNames":{"#a":"a"},"ProjectionExpression":null`, namesAlone},
		fault{`"Key":{"a":{}},"ProjectionExpression":"a,"`, noType},
		fault{`"ProjectionExpression":"","ExpressionAttributeNames":{}`, noNames},
		fault{`"ProjectionExpression":"","ExpressionAttributeNames":{"a":"a"}`, nameKey},
		fault{`"ProjectionExpression":""`, "Invalid ProjectionExpression: The expression can not be empty;"},
		fault{`"ProjectionExpression":"a","ExpressionAttributeNames":{"#u":"a"}`, nameUnused},
	)
	expectFaultsInOrder(t, "GetItem", base,
		fault{`"Key":{"a":{"S":"x","N":"1"}}`, manyTypes},
		fault{`"AttributesToGet":["a","b","a"]`, invalidOne + "Duplicate value in attribute name: a"},
	)
}

func TestParseGetItem(t *testing.T) {
	r := mustParse(t, "GetItem", parseGetItem, `{"TableName":"abc","Key":{"b":{"N":"1.0"}},"ProjectionExpression":"#a[1].b , c",
		"ExpressionAttributeNames":{"#a":"x"},"ReturnConsumedCapacity":"INDEXES"}`)
	if got := fmt.Sprint(r.Table, attributesText(&r.Key), r.Consistent, r.Projection, r.Capacity); got != `abc{"b":{"N":"1"}}false [[x, [1], b] [c]] 2` {
		t.Error("got", got)
	}
	r = mustParse(t, "GetItem", parseGetItem, `{"TableName":"abc","Key":{},"AttributesToGet":["a.b","c"],"ReturnConsumedCapacity":"NONE"}`)
	if got := fmt.Sprint(r.Projection, r.Capacity, len(r.Projection[0])); got != "[[a.b] [c]] 0 1" {
		t.Error("got", got)
	}
}

func TestParsePutItemFaults(t *testing.T) {
	const base = `"TableName":"abc","Item":{"a":{"S":"x"}}`
	large := `"Item":{"a":{"S":"` + strings.Repeat("x", maxItem) + `"}}`
	const tooLarge = "Item size has exceeded the maximum allowed size"
	const onlyOld = "ReturnValues can only be ALL_OLD or NONE"
	expectFaultsInOrder(t, "PutItem", base,
		fault{`"Expected":{},"ConditionalOperator":"OR","ConditionExpression":"a"`,
			oneError + mixed + "{Expected, ConditionalOperator} Expression parameters: {ConditionExpression}"},
		fault{`"ExpressionAttributeNames":{},"ExpressionAttributeValues":{},"ConditionExpression":null`, oneError + namesAlone},
		fault{`"ExpressionAttributeNames":null,"ExpressionAttributeValues":{},"ConditionExpression":null`, oneError + valuesAlone},
		fault{`"Item":{"a":{}}`, oneError + noType},
		fault{`"ReturnValues":"ALL_NEW"`, oneError + onlyOld},
		fault{large, tooLarge},
		fault{`"ExpressionAttributeNames":{},"ConditionExpression":""`, oneError + noNames},
		fault{`"ExpressionAttributeValues":{},"ConditionExpression":"","ExpressionAttributeNames":null`, oneError + noValues},
		fault{`"ExpressionAttributeValues":{"a":{}},"ConditionExpression":"","ExpressionAttributeNames":null`, oneError + valueKey},
		fault{`"ExpressionAttributeValues":{":v":{}},"ConditionExpression":"","ExpressionAttributeNames":null`, oneError + noType},
		fault{`"ConditionExpression":"","ExpressionAttributeNames":{"#u":"a"},"ExpressionAttributeValues":null`,
			oneError + "Invalid ConditionExpression: The expression can not be empty;"},
		fault{`"ConditionExpression":"attribute_exists(a)","ExpressionAttributeNames":{"#u":"a"},"ExpressionAttributeValues":{":u":{"S":""}}`, oneError + nameUnused},
		fault{`"ConditionExpression":"attribute_exists(a)","ExpressionAttributeNames":null,"ExpressionAttributeValues":{":u":{"S":""}}`, oneError + valUnused},
	)
	expectFaultsInOrder(t, "PutItem", base,
		fault{`"Item":{"a":{"NULL":false}}`, oneError + invalidOne + "Null attribute value types must have the value of true"},
		fault{`"ReturnValues":"UPDATED_OLD"`, oneError + onlyOld},
		fault{large, tooLarge},
		fault{`"Expected":{"a":{}}`, oneError + invalidOne + "Value must be provided when Exists is null for Attribute: a"},
	)
	f := expectRefused(t, "PutItem")
	f(`{`+base+`,"ConditionalOperator":"OR"}`, oneError+notAlone)
	f(`{`+base+`,"ConditionalOperator":"OR","Expected":{}}`, oneError+notAlone)
	f(`{`+base+`,"ReturnValues":"UPDATED_NEW"}`, oneError+onlyOld)
	expectAccepted(t, "PutItem")(`{"TableName":"abc","Item":{"a":{"S":"` + strings.Repeat("x", maxItem-1) + `"}}}`)
}

func TestParsePutItem(t *testing.T) {
	w := mustParse(t, "PutItem", parsePutItem, `{"TableName":"abc","Item":{"a":{"S":"x"}},"ConditionExpression":"a = :v",
		"ExpressionAttributeValues":{":v":{"N":"1e1"}},"ReturnValues":"ALL_OLD","ReturnItemCollectionMetrics":"SIZE",
		"ReturnValuesOnConditionCheckFailure":"ALL_OLD","ReturnConsumedCapacity":"TOTAL"}`)
	if w.Kind != writePut || w.Table != "abc" || w.Named != "abc" || attributesText(&w.Item) != `{"a":{"S":"x"}}` || w.Update != nil ||
		w.Condition == nil || w.Condition.Legacy || !w.ReturnItemOnFailure || w.Return != returnAllOld || w.Capacity != capacityTotal || !w.Metrics {
		t.Errorf("got %+v", w)
	}
	w = mustParse(t, "PutItem", parsePutItem, `{"TableName":"abc","Item":{},"Expected":{"a":{"Exists":false},"b":{"Value":{"S":"x"}}},
		"ConditionalOperator":"OR","ReturnValues":"NONE","ReturnItemCollectionMetrics":"NONE","ReturnValuesOnConditionCheckFailure":"NONE"}`)
	if w.Condition == nil || !w.Condition.Legacy || w.ReturnItemOnFailure || w.Return != returnNone || w.Metrics {
		t.Errorf("got %+v", w)
	}
}

func TestParseDeleteItem(t *testing.T) {
	const base = `"TableName":"abc","Key":{"a":{"S":"x"}}`
	expectFaultsInOrder(t, "DeleteItem", base,
		fault{`"Expected":{},"ConditionExpression":""`, oneError + mixed + "{Expected} Expression parameters: {ConditionExpression}"},
		fault{`"ExpressionAttributeNames":{"#u":"a"},"ConditionExpression":null`, oneError + namesAlone},
		fault{`"ExpressionAttributeValues":{":u":{"S":""}},"ConditionExpression":null,"ExpressionAttributeNames":null`,
			oneError + valuesAlone},
		fault{`"Key":{"a":{"N":"x"}}`, oneError + "The parameter cannot be converted to a numeric value: x"},
		fault{`"ReturnValues":"ALL_NEW"`, oneError + errReturnValues.Message},
		fault{`"ConditionExpression":"a","ExpressionAttributeNames":{"#u":"a"}`, oneError + `Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "a"`},
		fault{`"ConditionExpression":"attribute_exists(a)","ExpressionAttributeNames":{"#u":"a"}`, oneError + nameUnused},
	)
	expectFaultsInOrder(t, "DeleteItem", base,
		fault{`"Key":{"a":{}}`, oneError + noType},
		fault{`"ReturnValues":"UPDATED_NEW"`, oneError + errReturnValues.Message},
		fault{`"Expected":{"a":{"ComparisonOperator":"EQ"}}`,
			oneError + invalidOne + "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a"},
	)
	w := mustParse(t, "DeleteItem", parseDeleteItem, `{"TableName":"abc","Key":{"a":{"S":"x"}},"ReturnValues":"ALL_OLD"}`)
	if w.Kind != writeDelete || attributesText(&w.Item) != `{"a":{"S":"x"}}` || w.Return != returnAllOld || w.Condition != nil || w.Update != nil {
		t.Errorf("got %+v", w)
	}
}

func TestParseUpdateItemFaults(t *testing.T) {
	const base = `"TableName":"abc","Key":{"a":{"S":"x"}}`
	expectFaultsInOrder(t, "UpdateItem", base,
		fault{`"AttributeUpdates":{},"Expected":{},"ConditionalOperator":"AND","UpdateExpression":"","ConditionExpression":""`,
			oneError + mixed + "{AttributeUpdates, Expected, ConditionalOperator} Expression parameters: {UpdateExpression, ConditionExpression}"},
		fault{`"ExpressionAttributeNames":{},"UpdateExpression":null,"ConditionExpression":null`, oneError + namesAlone},
		fault{`"ExpressionAttributeValues":{},"UpdateExpression":null,"ConditionExpression":null,"ExpressionAttributeNames":null`,
			oneError + valuesAlone},
		fault{`"Key":{"a":{}}`, oneError + noType},
		fault{`"UpdateExpression":"","ConditionExpression":"","ExpressionAttributeNames":{}`, oneError + noNames},
		fault{`"UpdateExpression":"","ConditionExpression":"","ExpressionAttributeValues":{},"ExpressionAttributeNames":null`, oneError + noValues},
		fault{`"UpdateExpression":"","ExpressionAttributeNames":null,"ExpressionAttributeValues":null`, oneError + "Invalid UpdateExpression: The expression can not be empty;"},
		fault{`"ConditionExpression":"","ExpressionAttributeNames":null,"ExpressionAttributeValues":null,"UpdateExpression":null`,
			oneError + "Invalid ConditionExpression: The expression can not be empty;"},
		fault{`"UpdateExpression":"REMOVE b","ExpressionAttributeNames":{"#u":"a"},"ConditionExpression":null`, oneError + nameUnused},
		fault{`"UpdateExpression":"REMOVE b","ExpressionAttributeValues":{":u":{"S":""}},"ConditionExpression":null,"ExpressionAttributeNames":null`, oneError + valUnused},
	)
	expectFaultsInOrder(t, "UpdateItem", base,
		fault{`"Key":{"a":{}}`, oneError + noType},
		fault{`"AttributeUpdates":{"b":{"Action":"PUT"}}`, oneError + invalidOne + "Only DELETE action is allowed when no attribute value is specified"},
		fault{`"Expected":{"a":{"Exists":false,"Value":{"S":"x"}}}`, oneError + invalidOne + "Value cannot be used when Exists is false for Attribute: a"},
	)
	expectRefused(t, "UpdateItem")(`{`+base+`,"AttributeUpdates":{},"ConditionalOperator":"OR"}`, oneError+notAlone)
}

func TestParseUpdateItem(t *testing.T) {
	w := mustParse(t, "UpdateItem", parseUpdateItem, `{"TableName":"abc","Key":{"a":{"S":"x"}},"UpdateExpression":"SET b = :v",
		"ConditionExpression":"c = :v","ExpressionAttributeValues":{":v":{"S":"x"}},"ReturnValues":"UPDATED_NEW"}`)
	if w.Kind != writeUpdate || attributesText(&w.Item) != `{"a":{"S":"x"}}` || w.Update == nil || w.Update.Legacy || w.Condition == nil || w.Return != returnUpdatedNew {
		t.Errorf("got %+v", w)
	}
	w = mustParse(t, "UpdateItem", parseUpdateItem, `{"TableName":"abc","Key":{},"AttributeUpdates":{"b":{"Action":"DELETE"}},
		"Expected":{"a":{"Exists":false}},"ReturnValues":"UPDATED_OLD"}`)
	if w.Update == nil || !w.Update.Legacy || w.Condition == nil || !w.Condition.Legacy || w.Return != returnUpdatedOld {
		t.Errorf("got %+v", w)
	}
	w = mustParse(t, "UpdateItem", parseUpdateItem, `{"TableName":"abc","Key":{},"AttributeUpdates":{},"ReturnValues":"ALL_NEW"}`)
	if w.Update != nil || w.Return != returnAllNew {
		t.Errorf("got %+v", w)
	}
}
