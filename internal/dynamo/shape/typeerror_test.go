package shape

import (
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// refusal returns the type and message of the error that Check returns for a body.
func refusal(t *testing.T, operation, body string) (typ, message string) {
	t.Helper()
	if !wire.Valid([]byte(body), wire.MaxDepth) {
		t.Fatalf("the test's body isn't JSON: %s", body)
	}
	err := Check(operation, []byte(body))
	if err == nil {
		return "", ""
	}
	var e *wire.Error
	if !errors.As(err, &e) {
		t.Fatalf("got a %T, want a *wire.Error: %v", err, err)
	}
	return e.Type, e.Message
}

// TestTypes uses values of each type in place of others.
func TestTypes(t *testing.T) {
	f := func(operation, body, want string) {
		t.Helper()
		typ, message := refusal(t, operation, body)
		if typ != "SerializationException" || message != want {
			t.Errorf("%s %s\n got %s: %s\nwant %s", operation, body, typ, message, want)
		}
	}
	// in returns a function that puts a value in the place of ? in a body.
	in := func(operation, body string) func(value, want string) {
		return func(value, want string) {
			t.Helper()
			f(operation, strings.ReplaceAll(body, "?", value), want)
		}
	}
	object := "Start of structure or map found where not expected"

	g := in("GetItem", `{"TableName":?}`)
	g(`true`, "TRUE_VALUE cannot be converted to String")
	g(`false`, "FALSE_VALUE cannot be converted to String")
	g(`23`, "NUMBER_VALUE cannot be converted to String")
	g(`-2147483648`, "NUMBER_VALUE cannot be converted to String")
	g(`34.56`, "DECIMAL_VALUE cannot be converted to String")
	g(`3e5`, "DECIMAL_VALUE cannot be converted to String")
	g(`[]`, "Unrecognized collection type class java.lang.String")
	g(`{}`, object)

	g = in("GetItem", `{"ConsistentRead":?}`)
	g(`"23"`, "Unexpected token received from parser")
	g(`23`, "NUMBER_VALUE cannot be converted to Boolean")
	g(`34.56`, "DECIMAL_VALUE cannot be converted to Boolean")
	g(`[]`, "Unrecognized collection type class java.lang.Boolean")
	g(`{}`, object)

	g = in("Query", `{"Limit":?}`)
	g(`"23"`, "STRING_VALUE cannot be converted to Integer")
	g(`true`, "TRUE_VALUE cannot be converted to Integer")
	g(`false`, "FALSE_VALUE cannot be converted to Integer")
	g(`[]`, "Unrecognized collection type class java.lang.Integer")
	g(`{}`, object)

	g = in("CreateTable", `{"ProvisionedThroughput":{"ReadCapacityUnits":?}}`)
	g(`"23"`, "STRING_VALUE cannot be converted to Long")
	g(`true`, "TRUE_VALUE cannot be converted to Long")
	g(`[]`, "Unrecognized collection type class java.lang.Long")

	// A list, a map and a structure as members.
	g = in("GetItem", `{"AttributesToGet":?}`)
	g(`"23"`, "Unexpected field type")
	g(`true`, "Unexpected field type")
	g(`23`, "Unexpected field type")
	g(`{}`, object)
	g = in("GetItem", `{"Key":?}`)
	g(`"23"`, "Unexpected field type")
	g(`34.56`, "Unexpected field type")
	g(`[]`, "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	g = in("CreateTable", `{"ProvisionedThroughput":?}`)
	g(`"23"`, "Unexpected field type")
	g(`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ProvisionedThroughput")
	g = in("PutItem", `{"Expected":{"a":{"Value":?}}}`)
	g(`true`, "Unexpected field type")
	g(`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue")

	// The same in a list or a map.
	g = in("GetItem", `{"Key":{"a":?}}`)
	g(`"23"`, "Unexpected value type in payload")
	g(`true`, "Unexpected value type in payload")
	g(`23`, "Unexpected value type in payload")
	g(`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue")
	g = in("CreateTable", `{"KeySchema":[?]}`)
	g(`23`, "Unexpected value type in payload")
	g(`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement")
	g = in("PutItem", `{"Expected":{"a":?}}`)
	g(`23`, "Unexpected value type in payload")
	g(`[]`, "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ExpectedAttributeValue")
	g = in("BatchGetItem", `{"RequestItems":{"abc":{"Keys":[?]}}}`)
	g(`23`, parameterized)
	g(`[]`, "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	g = in("BatchWriteItem", `{"RequestItems":{"abc":?}}`)
	g(`"23"`, parameterized)
	g(`{}`, object)

	// Maps of other things than attribute values.
	f("GetItem", `{"ExpressionAttributeNames":[]}`,
		"Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>")
	f("PutItem", `{"Expected":[]}`,
		"Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.ExpectedAttributeValue>")
	f("BatchGetItem", `{"RequestItems":[]}`,
		"Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.KeysAndAttributes>")
	f("BatchWriteItem", `{"RequestItems":[]}`,
		"Unrecognized collection type java.util.Map<java.lang.String, java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>")
	f("TransactWriteItems", `{"TransactItems":[{"Put":23}]}`, "Unexpected field type")
	f("TransactWriteItems", `{"TransactItems":[{"Put":[]}]}`,
		"Unrecognized collection type class com.amazonaws.dynamodb.v20120810.Put")

	// The content of an attribute value.
	g = in("PutItem", `{"Item":{"a":?}}`)
	g(`{"S":23}`, "NUMBER_VALUE cannot be converted to String")
	g(`{"N":3}`, "NUMBER_VALUE cannot be converted to String")
	g(`{"BOOL":"maybe"}`, "Unexpected token received from parser")
	g(`{"NULL":1}`, "NUMBER_VALUE cannot be converted to Boolean")
	g(`{"SS":"a"}`, "Unexpected field type")
	g(`{"NS":[1]}`, "NUMBER_VALUE cannot be converted to String")
	g(`{"BS":[true]}`, "only base-64-encoded strings are convertible to bytes")
	g(`{"L":[1]}`, "Unexpected value type in payload")
	g(`{"L":{}}`, object)
	g(`{"M":{"b":1}}`, "Unexpected value type in payload")
	g(`{"M":[]}`, "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	g(`{"L":[{"M":{"x":{"S":1}}}]}`, "NUMBER_VALUE cannot be converted to String")
	g(`{"\u0053":1}`, "NUMBER_VALUE cannot be converted to String")

	g = in("PutItem", `{"Item":{"a":{"B":?}}}`)
	g(`true`, "only base-64-encoded strings are convertible to bytes")
	g(`23`, "only base-64-encoded strings are convertible to bytes")
	g(`[]`, "Unrecognized collection type class java.nio.ByteBuffer")
	g(`{}`, object)
	g(`"23456"`, "Base64 encoded length is expected a multiple of 4 bytes but found: 5")
	g(`"=+/="`, "Invalid last non-pad Base64 character dectected")
	g(`"+/+="`, "Invalid last non-pad Base64 character dectected")

	// The first value of the wrong type in the text is reported, before any constraint.
	f("Query", `{"Limit":0,"Select":"x","ConsistentRead":1,"TableName":2}`, "NUMBER_VALUE cannot be converted to Boolean")
	f("Query", `{"KeyConditions":{"a":{"ComparisonOperator":1}},"TableName":true}`, "NUMBER_VALUE cannot be converted to String")
}

// TestTypesAccepted has spellings that the service accepts.
func TestTypesAccepted(t *testing.T) {
	f := func(operation, body string) {
		t.Helper()
		if typ, message := refusal(t, operation, body); typ != "" {
			t.Errorf("%s %s: got %s: %s", operation, body, typ, message)
		}
	}
	for _, word := range []string{"true", "TRUE", "False", "1", "0", "yes", "No"} {
		f("GetItem", `{"TableName":"abc","Key":{"a":{"S":"x"}},"ConsistentRead":"`+word+`"}`)
	}
	f("GetItem", `{"TableName":"abc","Key":{"a":{"B":"\u0041A=="}}}`)
	f("GetItem", `{"TableName":"abc","Key":{"a":{"B":"AB\/+"}}}`)
	f("GetItem", `{"TableName":"a","Key":{},"Unknown":{"a":[1,{"b":null}]}}`)
	f("GetItem", `{"TableName":"abc","Key":{"a":{"X":1,"S":null}},"AttributesToGet":null,"ConsistentRead":null}`)
	f("GetItem", ` { "Table\u004eame" : "abc" , "Key" : { } } `)
	f("GetItem", `{"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/abc","Key":{}}`)
	f("DescribeTable", `{"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/abc"}`)
	f("GetItem", `{"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/`+strings.Repeat("x", 255)+`","Key":{}}`)
	f("Query", `{"TableName":"abc","Limit":1.9}`)
	f("PutItem", `{"TableName":"abc","Item":{"a":null,"b":{"L":[null]}},"ExpressionAttributeNames":{"#a":null}}`)
	f("BatchGetItem", `{"RequestItems":{"arn:aws:dynamodb:eu-west-1:123456789012:table/abc":{"Keys":[{}]}}}`)
	f("ListTagsOfResource", `{"ResourceArn":"x"}`)
	f("DescribeLimits", `{"a":1}`)
	f("NoSuchOperation", `{"a":1}`)
	// Of two members with one name the last counts.
	f("GetItem", `{"TableName":"!","TableName":"abc","Key":{}}`)
	f("GetItem", `{"TableName":"abc","Key":{},"AttributesToGet":[],"AttributesToGet":null}`)
}
