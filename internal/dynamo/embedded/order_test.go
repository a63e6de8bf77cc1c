package embedded

import (
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// refusal is the expected error of a request with these members.
type refusal struct{ typ, members, message string }

// expectErrorsInOrder checks that each error is returned alone, and instead of each later one in
// the list. Of several members with one name the last counts, so later members of the list are
// earlier in the request.
func (s *Store) expectErrorsInOrder(t *testing.T, op, base string, list ...refusal) {
	t.Helper()
	for i, first := range list {
		s.expectError(t, op, "{"+base+","+first.members+"}", first.typ, first.message)
		for _, second := range list[i+1:] {
			s.expectError(t, op, "{"+base+","+second.members+","+first.members+"}", first.typ, first.message)
		}
	}
}

const (
	serialization = "SerializationException"
	validation    = "ValidationException"
	notFound      = "ResourceNotFoundException"
	failedCheck   = "ConditionalCheckFailedException"

	noTable     = "Requested resource not found"
	checkFails  = "The conditional request failed"
	noBoolean   = "NUMBER_VALUE cannot be converted to Boolean"
	noString    = "NUMBER_VALUE cannot be converted to String"
	badCapacity = oneError + "Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"
	noCondition = "Invalid ConditionExpression: The expression can not be empty;"
	noUpdate    = "Invalid UpdateExpression: The expression can not be empty;"
)

// TestRequestOrder checks that malformed requests are refused before the operation is checked,
// and the operation before the request's members.
func TestRequestOrder(t *testing.T) {
	s := newStore(t)
	f := func(target, body, reply string) {
		t.Helper()
		resp, err := s.Do(&Request{Method: "POST", Path: "/", Target: []byte(target), Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status != 400 || string(resp.Body) != reply {
			t.Errorf("%s %s: got %d %s, want %s", target, body, resp.Status, resp.Body, reply)
		}
	}
	const noJSON = `{"__type":"com.amazon.coral.service#SerializationException"}`
	const noOperation = `{"__type":"com.amazon.coral.service#UnknownOperationException"}`
	f("DynamoDB_20120810.NoSuchThing", `{"TableName":`, noJSON)
	f("DynamoDB_20120810.GetItem", `{"TableName":1`, noJSON)
	f("DynamoDB_20120810.GetItem", `["TableName"]`, noJSON)
	f("DynamoDB_20120810.GetItem", ``, noJSON)
	f("DynamoDB_20120810.NoSuchThing", `{"TableName":1}`, noOperation)
	f("DynamoDBStreams_20120810.GetItem", `{"TableName":1}`, noOperation)
	f("", `{"TableName":1}`, noOperation)
	f("DynamoDB_20120810.GetItem", `{"TableName":1}`, `{"__type":"com.amazon.coral.service#SerializationException","Message":"`+noString+`"}`)
}

func TestGetItemFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.expectErrorsInOrder(t, "GetItem", `"TableName":"plain","Key":{"p":{"S":"a"}}`,
		refusal{serialization, `"ConsistentRead":1`, noBoolean},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"AttributesToGet":["a"],"ProjectionExpression":""`, mixed + "{AttributesToGet} Expression parameters: {ProjectionExpression}"},
		refusal{validation, `"Key":{"p":{}}`, noType},
		refusal{validation, `"ProjectionExpression":""`, "Invalid ProjectionExpression: The expression can not be empty;"},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"Key":{"p":{"N":"1"}}`, mismatch},
		refusal{validation, `"Key":{"p":{"S":""}}`, emptyText},
	)
}

func TestPutItemFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"}}}`)
	s.expectErrorsInOrder(t, "PutItem", `"TableName":"plain","Item":{"p":{"S":"a"}}`,
		refusal{serialization, `"ConditionExpression":1`, noString},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"Expected":{},"ConditionExpression":""`, oneError + mixed + "{Expected} Expression parameters: {ConditionExpression}"},
		refusal{validation, `"Item":{"p":{}}`, oneError + noType},
		refusal{validation, `"ReturnValues":"ALL_NEW"`, oneError + errReturnValues.Message},
		refusal{validation, `"Item":{"x":{"S":"` + strings.Repeat("x", maxItem) + `"}}`, errItemSize.Message},
		refusal{validation, `"ConditionExpression":""`, oneError + noCondition},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"Item":{"q":{"S":"a"}}`, invalidOne + "Missing the key p in the item"},
		refusal{validation, `"Item":{"p":{"N":"1"}}`, invalidOne + "Type mismatch for key p expected: S actual: N"},
		refusal{validation, `"Item":{"p":{"S":""}}`, emptyText},
		refusal{failedCheck, `"ConditionExpression":"attribute_not_exists(p)"`, checkFails},
	)
}

func TestUpdateItemFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.mustSend(t, "PutItem", `{"TableName":"plain","Item":{"p":{"S":"a"},"x":{"S":"x"}}}`)
	s.expectErrorsInOrder(t, "UpdateItem", `"TableName":"plain","Key":{"p":{"S":"a"}}`,
		refusal{serialization, `"UpdateExpression":1`, noString},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"Expected":{},"UpdateExpression":"","ConditionExpression":""`, oneError + mixed + "{Expected} Expression parameters: {UpdateExpression, ConditionExpression}"},
		refusal{validation, `"Key":{"p":{}}`, oneError + noType},
		refusal{validation, `"UpdateExpression":"","ExpressionAttributeValues":null`, oneError + noUpdate},
		refusal{validation, `"UpdateExpression":"REMOVE x","ConditionExpression":"","ExpressionAttributeValues":null`, oneError + noCondition},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"Key":{"p":{"N":"1"}}`, mismatch},
		refusal{validation, `"UpdateExpression":"SET p = :p","ConditionExpression":"attribute_not_exists(p)","ExpressionAttributeValues":{":p":{"S":"a"}}`,
			invalidOne + "Cannot update attribute p. This attribute is part of the key"},
		refusal{failedCheck, `"UpdateExpression":"ADD x :p","ConditionExpression":"attribute_not_exists(p)","ExpressionAttributeValues":{":p":{"N":"1"}}`, checkFails},
		refusal{validation, `"UpdateExpression":"ADD x :p","ExpressionAttributeValues":{":p":{"N":"1"}}`,
			"An operand in the update expression has an incorrect data type"},
	)
}

func TestDeleteItemFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.expectErrorsInOrder(t, "DeleteItem", `"TableName":"plain","Key":{"p":{"S":"a"}}`,
		refusal{serialization, `"Key":{"p":{"S":1}}`, noString},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"ExpressionAttributeNames":{},"ConditionExpression":null`, oneError + namesAlone},
		refusal{validation, `"Key":{"p":{}},"ExpressionAttributeNames":null`, oneError + noType},
		refusal{validation, `"ReturnValues":"ALL_NEW"`, oneError + errReturnValues.Message},
		refusal{validation, `"ConditionExpression":""`, oneError + noCondition},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"Key":{"p":{"S":"a"},"q":{"S":"a"}}`, mismatch},
		refusal{failedCheck, `"ConditionExpression":"attribute_exists(p)"`, checkFails},
	)
}

func TestQueryFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.expectErrorsInOrder(t, "Query", `"TableName":"range","KeyConditionExpression":"p = :p","ExpressionAttributeValues":{":p":{"S":"a"}}`,
		refusal{serialization, `"ConsistentRead":1`, noBoolean},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"QueryFilter":{},"FilterExpression":""`, mixed + "{QueryFilter} Expression parameters: {FilterExpression, KeyConditionExpression}"},
		refusal{validation, `"ExclusiveStartKey":{"p":{}}`, startPoint + noType},
		refusal{validation, `"FilterExpression":""`, "Invalid FilterExpression: The expression can not be empty;"},
		refusal{validation, `"KeyConditionExpression":"p <> :p","ExpressionAttributeValues":{":p":{"S":"a"}},"FilterExpression":null`,
			"Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: <>"},
		refusal{validation, `"Select":"SPECIFIC_ATTRIBUTES"`, oneError + specific},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"IndexName":"nowhere"`, "The table does not have the specified index: nowhere"},
		refusal{validation, `"KeyConditionExpression":"q = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"FilterExpression":null`,
			"Query condition missed key schema element: p"},
		refusal{validation, `"FilterExpression":"p = :p"`, "Filter Expression can only contain non-primary key attributes: Primary key attribute: p"},
	)
}

func TestScanFaultsInOrder(t *testing.T) {
	s := withTables(t)
	s.expectErrorsInOrder(t, "Scan", `"TableName":"range"`,
		refusal{serialization, `"Limit":"1"`, "STRING_VALUE cannot be converted to Integer"},
		refusal{validation, `"Limit":0`, oneError + "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1"},
		refusal{validation, `"ScanFilter":{},"FilterExpression":""`, mixed + "{ScanFilter} Expression parameters: {FilterExpression}"},
		refusal{validation, `"ExclusiveStartKey":{"p":{}}`, startPoint + noType},
		refusal{validation, `"Segment":1,"TotalSegments":1`,
			"The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 1 is not less than TotalSegments: 1"},
		refusal{validation, `"FilterExpression":""`, "Invalid FilterExpression: The expression can not be empty;"},
		refusal{validation, `"Select":"ALL_PROJECTED_ATTRIBUTES"`, projected},
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"ExclusiveStartKey":{"q":{"S":"a"}}`, startPoint + mismatch},
	)
	s.expectErrorsInOrder(t, "Scan", `"TableName":"range"`,
		refusal{notFound, `"TableName":"none"`, noTable},
		refusal{validation, `"IndexName":"nowhere"`, "The table does not have the specified index: nowhere"},
		refusal{validation, `"ExclusiveStartKey":{"q":{"S":"a"}}`, startPoint + mismatch},
	)
}

func TestBatchFaultsInOrder(t *testing.T) {
	s := withTables(t)
	get := func(more string) string { return `"RequestItems":{"plain":{"Keys":[{"p":{"S":"a"}}]},` + more + `}` }
	const twice = "Provided list of item keys contains duplicates"
	s.expectErrorsInOrder(t, "BatchGetItem", `"RequestItems":{"plain":{"Keys":[{"p":{"S":"a"}}]}}`,
		refusal{serialization, get(`"none":{"Keys":1}`), "Unexpected field type"},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, get(`"none":{"Keys":[{"p":{}}]}`), noType},
		refusal{validation, get(`"none":{"Keys":[{}],"ProjectionExpression":""}`), "Invalid ProjectionExpression: The expression can not be empty;"},
		refusal{validation, get(`"none":{"Keys":[{},{}]}`), twice},
		refusal{notFound, get(`"none":{"Keys":[{}]}`), noTable},
		refusal{notFound, `"RequestItems":{"plain":{"Keys":[{}]},"none":{"Keys":[{}]}}`, noTable},
		refusal{validation, get(`"range":{"Keys":[{"p":{"S":""}}]}`), mismatch},
	)
	write := func(more string) string {
		return `"RequestItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}],` + more + `}`
	}
	s.expectErrorsInOrder(t, "BatchWriteItem", `"RequestItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}}]}`,
		refusal{serialization, write(`"none":[1]`), "Unexpected value type in payload"},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, write(`"none":[{}]`), noType},
		refusal{validation, write(`"none":[{"PutRequest":{"Item":{"p":{}}}}]`), noType},
		refusal{notFound, write(`"none":[{"PutRequest":{"Item":{}}},{"PutRequest":{"Item":{}}}]`), noTable},
		refusal{validation, write(`"range":[{"PutRequest":{"Item":{}}},{"PutRequest":{"Item":{}}}]`), mismatch},
		refusal{validation, `"RequestItems":{"plain":[{"DeleteRequest":{"Key":{"p":{"S":"a"}}}},{"PutRequest":{"Item":{"p":{"S":"a"},"q":{"S":"x"}}}}]}`, twice},
	)
}

func TestTransactionFaultsInOrder(t *testing.T) {
	s := withTables(t)
	const failing = `{"ConditionCheck":{"TableName":"plain","Key":{"p":{"S":"c"}},"ConditionExpression":"attribute_exists(p)"}}`
	with := func(actions ...string) string {
		return `"TransactItems":[` + strings.Join(append(actions, failing), ",") + `]`
	}
	put := func(table, item string) string { return `{"Put":{"TableName":"` + table + `","Item":` + item + `}}` }
	const canceledOne = "Transaction cancelled, please refer cancellation reasons for specific reasons "
	s.expectErrorsInOrder(t, "TransactWriteItems", with(),
		refusal{serialization, with(`{"Put":1}`), "Unexpected field type"},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, with(put("none", `{"p":{}}`), `{}`), errNoAction.Message},
		refusal{validation, with(put("none", `{"p":{}}`)), noType},
		refusal{validation, with(`{"Update":{"TableName":"none","Key":{"p":{}},"UpdateExpression":""}}`), noUpdate},
		refusal{notFound, with(put("none", `{}`)), noTable},
		refusal{validation, with(put("plain", `{"p":{"S":"a"}}`), put("plain", `{"p":{"S":"a"}}`), put("plain", `{}`)),
			"Transaction request cannot include multiple operations on one item"},
		refusal{validation, with(put("plain", `{"p":{"S":""}}`)), emptyText},
		refusal{"TransactionCanceledException", with(put("plain", `{}`), put("plain", `{"p":{"N":"1"}}`)), canceledOne + "[ValidationError, None, None]"},
		refusal{"TransactionCanceledException", with(put("plain", `{"p":{"S":"a"}}`)), canceledOne + "[None, ConditionalCheckFailed]"},
	)
	get := func(table, more string) string { return `{"Get":{"TableName":"` + table + `",` + more + `}}` }
	s.expectErrorsInOrder(t, "TransactGetItems", `"TransactItems":[`+get("plain", `"Key":{"p":{"S":"a"}}`)+`]`,
		refusal{serialization, `"TransactItems":[1]`, "Unexpected value type in payload"},
		refusal{validation, `"ReturnConsumedCapacity":"x"`, badCapacity},
		refusal{validation, `"TransactItems":[` + get("none", `"Key":{"p":{}},"ProjectionExpression":""`) + `]`, "Invalid ProjectionExpression: The expression can not be empty;"},
		refusal{validation, `"TransactItems":[` + get("none", `"Key":{"p":{}}`) + `]`, noType},
		refusal{notFound, `"TransactItems":[` + get("plain", `"Key":{}`) + `,` + get("none", `"Key":{}`) + `]`, noTable},
		refusal{"TransactionCanceledException", `"TransactItems":[` + get("plain", `"Key":{}`) + `]`, canceledOne + "[ValidationError]"},
	)
}

// TestOrderOfSeveralFaults sends requests on tables and streams with a value of the wrong type, an
// invalid value and a missing table: the first is reported before the second, before the third.
func TestOrderOfSeveralFaults(t *testing.T) {
	s := newStore(t)
	const needsTable = "The parameter 'TableName' is required but was not present in the request"
	f := func(op, wrongType, broken, message string) {
		t.Helper()
		if broken != "" {
			s.expectError(t, op, "{"+broken+"}", validation, message)
			wrongType = broken + "," + wrongType
		}
		status, reply := s.send(t, op, "{"+strings.TrimSuffix(wrongType, ",")+"}")
		if status != 400 || wire.ErrorType([]byte(reply)) == nil || !strings.Contains(reply, "SerializationException") {
			t.Errorf("%s {%s}: got %d %s", op, wrongType, status, reply)
		}
	}
	limit := func(v, bound string) string {
		return oneError + "Value '" + v + "' at 'limit' failed to satisfy constraint: Member must have value " + bound
	}
	for _, op := range []string{"CreateTable", "UpdateTable", "DeleteTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive",
		"DescribeContinuousBackups", "UpdateContinuousBackups"} {
		f(op, `"TableName":1`, `"TableName":null`, needsTable)
	}
	f("ListTables", `"ExclusiveStartTableName":1`, `"Limit":101`, limit("101", "less than or equal to 100"))
	f("ListStreams", `"TableName":1`, `"Limit":0`, limit("0", "greater than or equal to 1"))
	f("DescribeStream", `"StreamArn":1`, `"StreamArn":"`+strings.Repeat("x", 40)+`","Limit":0`, limit("0", "greater than or equal to 1"))
	f("GetRecords", `"ShardIterator":1`, `"ShardIterator":"x","Limit":1001`, limit("1001", "less than or equal to 1000"))
	f("TagResource", `"Tags":1`, `"Tags":[]`, oneError+"Value null at 'resourceArn' failed to satisfy constraint: Member must not be null")
}
