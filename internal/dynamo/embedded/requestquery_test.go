package embedded

import (
	"fmt"
	"testing"
)

const (
	specific   = "Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
	projected  = "ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName"
	oneError   = "1 validation error detected: "
	startPoint = "The provided starting key is invalid: "
	duplicateA = invalidOne + "Duplicate value in attribute name: a"
)

func TestParseQueryFaults(t *testing.T) {
	const base = `"TableName":"abc"`
	const keys = `"KeyConditionExpression":"a = :v","ExpressionAttributeValues":{":v":{"S":"x"}}`
	expectFaultsInOrder(t, "Query", base,
		fault{`"AttributesToGet":["a","a"],"QueryFilter":{},"ConditionalOperator":"OR","KeyConditions":{},"ProjectionExpression":"","FilterExpression":"","KeyConditionExpression":""`,
			mixed + "{AttributesToGet, QueryFilter, ConditionalOperator, KeyConditions} Expression parameters: {ProjectionExpression, FilterExpression, KeyConditionExpression}"},
		fault{`"ExpressionAttributeNames":{},"KeyConditionExpression":null,"FilterExpression":null,"ProjectionExpression":null`, namesAlone},
		fault{`"ExpressionAttributeValues":{},"KeyConditionExpression":null,"FilterExpression":null,"ProjectionExpression":"","ExpressionAttributeNames":null`,
			valuesUsed + "FilterExpression and KeyConditionExpression are null"},
		fault{`"ExclusiveStartKey":{"a":{}},"KeyConditionExpression":"",` + `"ExpressionAttributeValues":null`, startPoint + noType},
		fault{`"FilterExpression":"","KeyConditionExpression":null,"ExpressionAttributeValues":null,"ExpressionAttributeNames":null`,
			"Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
		fault{`"KeyConditionExpression":"","FilterExpression":"","ExpressionAttributeNames":{},"ExpressionAttributeValues":{}`, noNames},
		fault{`"KeyConditionExpression":"","ExpressionAttributeValues":{},"ExpressionAttributeNames":null`, noValues},
		fault{`"KeyConditionExpression":"","ExpressionAttributeValues":null,"ExpressionAttributeNames":null`,
			"Invalid KeyConditionExpression: The expression can not be empty;"},
		fault{`"KeyConditionExpression":"a = :v OR a = :v","ExpressionAttributeValues":{":v":{"S":"x"}},"ExpressionAttributeNames":null,"FilterExpression":""`,
			"Invalid FilterExpression: The expression can not be empty;"},
		fault{`"KeyConditionExpression":"a = :v OR a = :v","ExpressionAttributeValues":{":v":{"S":"x"}},"FilterExpression":null,"ProjectionExpression":"","ExpressionAttributeNames":null`,
			"Invalid ProjectionExpression: The expression can not be empty;"},
		fault{`"KeyConditionExpression":"a = :v OR a = :v","ExpressionAttributeValues":{":v":{"S":"x"}},"ExpressionAttributeNames":{"#u":"a"},"ProjectionExpression":null`, nameUnused},
		fault{`"KeyConditionExpression":"a = :v OR a = :v","ExpressionAttributeValues":{":v":{"S":"x"},":u":{"S":""}},"ExpressionAttributeNames":null`, valUnused},
		fault{`"KeyConditionExpression":"a = :v OR a = :v","ExpressionAttributeValues":{":v":{"S":"x"}}`,
			"Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR"},
		fault{keys + `,"Select":"SPECIFIC_ATTRIBUTES"`, oneError + specific},
	)
	const condition = `"KeyConditions":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}`
	expectFaultsInOrder(t, "Query", base,
		fault{`"QueryFilter":{"a":{"ComparisonOperator":"EQ"}},"KeyConditionExpression":null`, noArgument},
		fault{`"AttributesToGet":["a","a"],"KeyConditionExpression":null`, duplicateA},
		fault{`"ExclusiveStartKey":{"a":{"S":"x","N":"1"}},"KeyConditionExpression":null`, startPoint + manyTypes},
		fault{`"Select":"COUNT"`, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."},
	)
	expectFaultsInOrder(t, "Query", base,
		fault{condition + `,"ConditionalOperator":"OR"`, notAlone},
		fault{condition + `,"AttributesToGet":["a","a"]`, duplicateA},
		fault{`"KeyConditions":{"a":{"ComparisonOperator":"EQ"}}`, noArgument},
		fault{condition + `,"AttributesToGet":["a"],"Select":"COUNT"`, oneError + "Cannot specify the AttributesToGet when choosing to get only the Count"},
	)
	f := expectRefused(t, "Query")
	f(`{`+base+`,"AttributesToGet":["a"],"ProjectionExpression":"a","ExpressionAttributeValues":{}}`, mixed+"{AttributesToGet} Expression parameters: {ProjectionExpression}")
	f(`{`+base+`,"KeyConditions":{},"KeyConditionExpression":""}`, mixed+"{KeyConditions} Expression parameters: {KeyConditionExpression}")
	f(`{`+base+`,"AttributesToGet":["a"],"KeyConditions":{},"FilterExpression":""}`, mixed+"{AttributesToGet} Expression parameters: {FilterExpression}")
	f(`{`+base+`,"KeyConditions":{}}`, "Conditions can be of length 1 or 2 only")
	f(`{`+base+`,"KeyConditions":{},"FilterExpression":""}`, "Invalid FilterExpression: The expression can not be empty;")
	expectAccepted(t, "Query")(`{` + base + `,` + condition + `,"FilterExpression":"a = :v","ProjectionExpression":"b","ExpressionAttributeValues":{":v":{"S":"x"}}}`)
}

// TestStartingKey checks that some errors in a starting key's values are reported as errors of the
// key.
func TestStartingKey(t *testing.T) {
	scan, query := expectRefused(t, "Scan"), expectRefused(t, "Query")
	f := func(v, message string) {
		t.Helper()
		scan(`{"TableName":"abc","ExclusiveStartKey":{"a":`+v+`}}`, message)
		query(`{"TableName":"abc","ExclusiveStartKey":{"a":`+v+`}}`, message)
	}
	f(`{}`, startPoint+noType)
	f(`{"S":"x","N":"1"}`, startPoint+manyTypes)
	f(`{"NULL":false}`, startPoint+invalidOne+"Null attribute value types must have the value of true")
	f(`{"SS":[]}`, startPoint+invalidOne+"An string set  may not be empty")
	f(`{"BS":[]}`, startPoint+invalidOne+"Binary sets should not be empty")
	f(`{"NS":[]}`, invalidOne+"An number set  may not be empty")
	f(`{"N":"x"}`, "The parameter cannot be converted to a numeric value: x")
	// Only a Query is checked in the newer layer.
	g := func(v, older, newer string) {
		t.Helper()
		scan(`{"TableName":"abc","ExclusiveStartKey":{"a":`+v+`}}`, older)
		query(`{"TableName":"abc","ExclusiveStartKey":{"a":`+v+`}}`, newer)
	}
	g(`{"SS":["b","a","b"]}`, invalidOne+"Input collection [b, a, b] contains duplicates.", invalidOne+`Input collection ["a", "b", "b"] contains duplicates.`)
	g(`{"NS":["1","1"]}`, "Input collection contains duplicates", invalidOne+"Input collection contains duplicates.")
}

func TestParseScanFaults(t *testing.T) {
	const base = `"TableName":"abc"`
	const noTotal = "The TotalSegments parameter is required but was not present in the request when Segment parameter is present"
	const noSegment = "The Segment parameter is required but was not present in the request when parameter TotalSegments is present"
	const fifth = "The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5"
	expectFaultsInOrder(t, "Scan", base,
		fault{`"AttributesToGet":["a","a"],"ScanFilter":{},"ConditionalOperator":"OR","ProjectionExpression":"","FilterExpression":""`,
			mixed + "{AttributesToGet, ScanFilter, ConditionalOperator} Expression parameters: {ProjectionExpression, FilterExpression}"},
		fault{`"ExpressionAttributeNames":{},"FilterExpression":null,"ProjectionExpression":null`, namesAlone},
		fault{`"ExpressionAttributeValues":{},"FilterExpression":null,"ExpressionAttributeNames":null`, valuesUsed + "FilterExpression is null"},
		fault{`"ExclusiveStartKey":{"a":{}},"FilterExpression":""`, startPoint + noType},
		fault{`"Segment":5,"TotalSegments":null,"FilterExpression":""`, noTotal},
		fault{`"TotalSegments":5,"Segment":null,"FilterExpression":""`, noSegment},
		fault{`"TotalSegments":5,"Segment":5,"FilterExpression":""`, fifth},
		fault{`"FilterExpression":"","ExpressionAttributeNames":{},"Segment":null,"TotalSegments":null`, noNames},
		fault{`"FilterExpression":"","ExpressionAttributeNames":null,"ExpressionAttributeValues":{}`, noValues},
		fault{`"FilterExpression":"","ExpressionAttributeNames":null,"ExpressionAttributeValues":null,"ProjectionExpression":""`,
			"Invalid FilterExpression: The expression can not be empty;"},
		fault{`"ProjectionExpression":"","FilterExpression":null,"ExpressionAttributeNames":null`, "Invalid ProjectionExpression: The expression can not be empty;"},
		fault{`"ProjectionExpression":"a","ExpressionAttributeNames":{"#u":"b"}`, nameUnused},
		fault{`"ProjectionExpression":"a","ExpressionAttributeNames":null,"Select":"COUNT"`,
			"Cannot specify the ProjectionExpression when choosing to get only the Count"},
	)
	expectFaultsInOrder(t, "Scan", base,
		fault{`"AttributesToGet":["a","a"]`, duplicateA},
		fault{`"ScanFilter":{"a":{"ComparisonOperator":"EQ"}}`, noArgument},
		fault{`"ConditionalOperator":"OR","ScanFilter":null`, notAlone},
		fault{`"ExclusiveStartKey":{"a":{}},"ConditionalOperator":null,"ScanFilter":null`, startPoint + noType},
		fault{`"Segment":5,"TotalSegments":null`, noTotal},
		fault{`"Segment":6,"TotalSegments":5,"Select":"COUNT"`,
			"The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 6 is not less than TotalSegments: 5"},
	)
	expectAccepted(t, "Scan")(`{"TableName":"abc","Segment":0,"TotalSegments":1}`)
	expectAccepted(t, "Scan")(`{"TableName":"abc","Segment":4,"TotalSegments":5}`)
}

// TestSelectChecks checks Select against the lists and the index. A Query reports the number of
// errors, a Scan doesn't.
func TestSelectChecks(t *testing.T) {
	scan, query := expectRefused(t, "Scan"), expectRefused(t, "Query")
	const keys = `"KeyConditions":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}`
	f := func(members, message string) {
		t.Helper()
		scan(`{"TableName":"abc",`+members+`}`, message)
		query(`{"TableName":"abc",`+members+`,`+keys+`}`, oneError+message)
	}
	const index, list, old = `,"IndexName":"abc"`, `,"ProjectionExpression":"a"`, `,"AttributesToGet":["a"]`
	const cannot, cannotOld = "Cannot specify the ProjectionExpression when choosing to get ", "Cannot specify the AttributesToGet when choosing to get "
	f(`"Select":"SPECIFIC_ATTRIBUTES"`, specific)
	f(`"Select":"SPECIFIC_ATTRIBUTES"`+index, specific)
	f(`"Select":"ALL_PROJECTED_ATTRIBUTES"`, projected)
	f(`"Select":"ALL_PROJECTED_ATTRIBUTES"`+list, projected)
	f(`"Select":"ALL_PROJECTED_ATTRIBUTES"`+list+index, cannot+"ALL_PROJECTED_ATTRIBUTES")
	f(`"Select":"ALL_ATTRIBUTES"`+list, cannot+"ALL_ATTRIBUTES")
	f(`"Select":"COUNT"`+list, cannot+"only the Count")
	f(`"Select":"ALL_PROJECTED_ATTRIBUTES"`+old+index, cannotOld+"ALL_PROJECTED_ATTRIBUTES")
	f(`"Select":"ALL_ATTRIBUTES"`+old, cannotOld+"ALL_ATTRIBUTES")
	f(`"Select":"COUNT"`+old, cannotOld+"only the Count")
	g := func(members string) {
		t.Helper()
		expectAccepted(t, "Scan")(`{"TableName":"abc",` + members + `}`)
		expectAccepted(t, "Query")(`{"TableName":"abc",` + members + `,` + keys + `}`)
	}
	g(`"Select":"COUNT"`)
	g(`"Select":"ALL_ATTRIBUTES"`)
	g(`"Select":"ALL_ATTRIBUTES"` + index)
	g(`"Select":"ALL_PROJECTED_ATTRIBUTES"` + index)
	g(`"Select":"SPECIFIC_ATTRIBUTES"` + list)
	g(`"Select":"SPECIFIC_ATTRIBUTES"` + old)
	g(`"Limit":1` + list)
}

func TestParseQuery(t *testing.T) {
	r := mustParse(t, "Query", parseQuery, `{"TableName":"abc","IndexName":"xyz","KeyConditionExpression":"a = :v","FilterExpression":"b = :v",
		"ProjectionExpression":"c,d.e","ExpressionAttributeValues":{":v":{"S":"x"}},"Select":"SPECIFIC_ATTRIBUTES","Limit":7,"ConsistentRead":true,
		"ScanIndexForward":false,"ExclusiveStartKey":{"a":{"S":"x"}},"ReturnConsumedCapacity":"TOTAL","Segment":1,"TotalSegments":2}`)
	if r.Scan || r.Keys == nil || r.Filter == nil || r.Filter.Legacy || !r.Consistent || !r.Backward || r.Start == nil || r.Capacity != capacityTotal {
		t.Errorf("got %+v", r)
	}
	if got := fmt.Sprint(r.Table, r.Index, r.Projection, r.Select, r.Limit, attributesText(r.Start), r.Segment, r.Segments); got != `abcxyz[[c] [d, e]] 3 7{"a":{"S":"x"}}0 0` {
		t.Error("got", got)
	}
	r = mustParse(t, "Query", parseQuery, `{"TableName":"abc","KeyConditions":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}},
		"QueryFilter":{"b":{"ComparisonOperator":"NULL"}},"AttributesToGet":["c"],"ScanIndexForward":true}`)
	if r.Keys == nil || r.Filter == nil || !r.Filter.Legacy || len(r.Projection) != 1 || r.Backward || r.Start != nil || r.Limit != 0 || r.Select != selectDefault {
		t.Errorf("got %+v", r)
	}
	if r = mustParse(t, "Query", parseQuery, `{"TableName":"abc","KeyConditions":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}}`); r.Backward || r.Filter != nil {
		t.Errorf("got %+v", r)
	}
}

func TestParseScan(t *testing.T) {
	r := mustParse(t, "Scan", parseScan, `{"TableName":"abc","IndexName":"xyz","FilterExpression":"b = :v","ExpressionAttributeValues":{":v":{"S":"x"}},
		"Segment":3,"TotalSegments":4,"Select":"ALL_PROJECTED_ATTRIBUTES","Limit":1e9,"ScanIndexForward":false}`)
	if !r.Scan || r.Keys != nil || r.Filter == nil || r.Index != "xyz" || r.Segment != 3 || r.Segments != 4 || r.Select != selectProjected || r.Backward {
		t.Errorf("got %+v", r)
	}
	r = mustParse(t, "Scan", parseScan, `{"TableName":"abc","ScanFilter":{"b":{"ComparisonOperator":"NULL"},"c":{"ComparisonOperator":"NULL"}},
		"ConditionalOperator":"OR","Select":"ALL_ATTRIBUTES","Limit":2147483647}`)
	if r.Filter == nil || !r.Filter.Legacy || r.Select != selectAllAttributes || r.Limit != 1<<31-1 || r.Segments != 0 {
		t.Errorf("got %+v", r)
	}
}
