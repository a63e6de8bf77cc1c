package embedded

import (
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/value"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// parser is a request's parse function that returns only the error.
type parser func(body string) error

func parserOf[R any](parse func([]byte) (R, error)) parser {
	return func(body string) error {
		_, err := parse([]byte(body))
		return err
	}
}

var parsers = map[string]parser{
	"GetItem":            parserOf(parseGetItem),
	"PutItem":            parserOf(parsePutItem),
	"UpdateItem":         parserOf(parseUpdateItem),
	"DeleteItem":         parserOf(parseDeleteItem),
	"Query":              parserOf(parseQuery),
	"Scan":               parserOf(parseScan),
	"BatchGetItem":       parserOf(parseBatchGetItem),
	"BatchWriteItem":     parserOf(parseBatchWriteItem),
	"TransactGetItems":   parserOf(parseTransactGetItems),
	"TransactWriteItems": parserOf(parseTransactWriteItems),
}

// expectRefused returns a function that checks that the operation refuses a body of the right
// shape with a ValidationException.
func expectRefused(t *testing.T, op string) func(body, message string) {
	return func(body, message string) {
		t.Helper()
		if err := shape.Check(op, []byte(body)); err != nil {
			t.Fatalf("%s %s: %v", op, body, err)
		}
		var fault *wire.Error
		err := parsers[op](body)
		switch {
		case !errors.As(err, &fault) || fault.Type != "ValidationException":
			t.Errorf("%s %s: got %v\nwant %s", op, body, err, message)
		case fault.Message != message:
			t.Errorf("%s %s:\ngot  %s\nwant %s", op, body, fault.Message, message)
		}
	}
}

// expectAccepted returns a function that checks that the operation accepts a body.
func expectAccepted(t *testing.T, op string) func(body string) {
	return func(body string) {
		t.Helper()
		if err := shape.Check(op, []byte(body)); err != nil {
			t.Errorf("%s %s: %v", op, body, err)
		} else if err := parsers[op](body); err != nil {
			t.Errorf("%s %s: %v", op, body, err)
		}
	}
}

// fault is the expected message for a request with these members.
type fault struct{ members, message string }

// expectFaultsInOrder checks that each fault is reported alone, and instead of each later one in
// the list.
func expectFaultsInOrder(t *testing.T, op, base string, faults ...fault) {
	t.Helper()
	f := expectRefused(t, op)
	for i, first := range faults {
		f("{"+base+","+first.members+"}", first.message)
		for _, second := range faults[i+1:] {
			f("{"+base+","+second.members+","+first.members+"}", first.message)
		}
	}
}

// mustParse parses a valid body.
func mustParse[R any](t *testing.T, op string, parse func([]byte) (R, error), body string) R {
	t.Helper()
	expectAccepted(t, op)(body)
	r, _ := parse([]byte(body))
	return r
}

// attributesText returns an item or key as JSON.
func attributesText(v *value.Value) string { return string(v.AppendItem(nil)) }

const (
	noType      = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
	manyTypes   = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
	invalidOne  = "One or more parameter values were invalid: "
	mixed       = "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
	namesAlone  = "ExpressionAttributeNames can only be specified when using expressions"
	valuesUsed  = valuesAlone + ": "
	valuesAlone = "ExpressionAttributeValues can only be specified when using expressions"
	noNames     = "ExpressionAttributeNames must not be empty"
	noValues    = "ExpressionAttributeValues must not be empty"
	nameKey     = `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`
	valueKey    = `ExpressionAttributeValues contains invalid key: Syntax error; key: "a"`
	valueEmpty  = "ExpressionAttributeValues contains invalid value: " + noType + " for key :v"
	nameUnused  = "Value provided in ExpressionAttributeNames unused in expressions: keys: {#u}"
	valUnused   = "Value provided in ExpressionAttributeValues unused in expressions: keys: {:u}"
	noArgument  = invalidOne + "Invalid number of argument(s) for the EQ ComparisonOperator"
	notAlone    = "ConditionalOperator cannot be used without Filter or Expected"
)

// FuzzParse checks that a body of an operation's shape is accepted or refused with an error of
// the API.
func FuzzParse(f *testing.F) {
	f.Add("GetItem", `{"TableName":"abc","Key":{"a":{"S":"x"}},"AttributesToGet":["a","b"]}`)
	f.Add("PutItem", `{"TableName":"abc","Item":{"a":{"N":"1"}},"Expected":{"a":{"Exists":"no"}},"ReturnValues":"ALL_OLD"}`)
	f.Add("UpdateItem", `{"TableName":"abc","Key":{},"UpdateExpression":"SET #a=:a","ExpressionAttributeNames":{"#a":"x"},"ExpressionAttributeValues":{":a":{"L":[null]}}}`)
	f.Add("Query", `{"TableName":"abc","KeyConditionExpression":"a=:a AND b BETWEEN :a AND :a","ExpressionAttributeValues":{":a":{"N":"1"}},"Limit":3,"ExclusiveStartKey":{}}`)
	f.Add("Scan", `{"TableName":"abc","Segment":0,"TotalSegments":3,"ScanFilter":{"a":{"ComparisonOperator":"NULL"}},"Select":"COUNT"}`)
	f.Add("BatchGetItem", `{"RequestItems":{"abc":{"Keys":[{"a":{"S":"x"}},{}],"ConsistentRead":true}}}`)
	f.Add("BatchWriteItem", `{"RequestItems":{"abc":[{"PutRequest":{"Item":{}}},{"DeleteRequest":{"Key":{"b":{"B":"AA=="}}}}]}}`)
	f.Add("TransactWriteItems", `{"TransactItems":[{"ConditionCheck":{"TableName":"abc","Key":{},"ConditionExpression":"size(a)>:a","ExpressionAttributeValues":{":a":{"N":"1"}}}}]}`)
	f.Add("TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"abc","Key":{"a":{"SS":["a"]}},"ProjectionExpression":"a[0].b"}}]}`)
	f.Fuzz(func(t *testing.T, op, body string) {
		parse := parsers[op]
		if parse == nil || !wire.Valid([]byte(body), wire.MaxDepth) || body[0] != '{' || shape.Check(op, []byte(body)) != nil {
			return
		}
		err := parse(body)
		var fault *wire.Error
		if err != nil && (!errors.As(err, &fault) || fault.Message == "" || fault.Type != "ValidationException") {
			t.Fatalf("%s %s: %v", op, body, err)
		}
	})
}

// budgets are the maximum allocations of checking and parsing a request.
var budgets = []struct {
	op, body  string
	maxAllocs float64
}{
	{"GetItem", `{"TableName":"abc","Key":{"a":{"S":"x"},"b":{"N":"17"}},"ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"}`, 4},
	{"DeleteItem", `{"TableName":"abc","Key":{"a":{"S":"x"}},"ReturnValues":"ALL_OLD"}`, 4},
	{"PutItem", `{"TableName":"abc","Item":{"a":{"S":"x"},"b":{"N":"17"},"c":{"BOOL":true}}}`, 4},
	{"Query", `{"TableName":"abc","KeyConditionExpression":"a = :a","ExpressionAttributeValues":{":a":{"S":"x"}},"Limit":10}`, 15},
}

func TestParseBudget(t *testing.T) {
	for _, b := range budgets {
		body := []byte(b.body)
		got := testing.AllocsPerRun(100, func() {
			if err := shape.Check(b.op, body); err != nil {
				t.Fatal(err)
			}
			if err := parsers[b.op](b.body); err != nil {
				t.Fatal(err)
			}
		})
		if got--; got > b.maxAllocs { // one is the body's
			t.Errorf("%s: %v allocations, want at most %v", b.op, got, b.maxAllocs)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, r := range budgets {
		b.Run(r.op, func(b *testing.B) {
			body := []byte(r.body)
			b.ReportAllocs()
			for b.Loop() {
				if err := shape.Check(r.op, body); err != nil {
					b.Fatal(err)
				}
				if err := parsers[r.op](r.body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSpellings checks that names of members may be escaped, that of several members with one
// name the last counts, that null counts as missing, and that unknown members are ignored.
func TestSpellings(t *testing.T) {
	r := mustParse(t, "GetItem", parseGetItem, `{"TableName":"x","\u004bey":{"a":{"S":"x"}},"TableName":"arn:aws:dynamodb:eu-west-1:123456789012:table/abc",
		"ConsistentRead":"Yes","ProjectionExpression":"a","ProjectionExpression":null,"UpdateExpression":"SET","Select":"COUNT",
		"ReturnConsumedCapacity":"\u0054OTAL","\u004e":1}`)
	if r.Table != "abc" || !strings.HasPrefix(r.Named, "arn:") || attributesText(&r.Key) != `{"a":{"S":"x"}}` || !r.Consistent ||
		r.Projection != nil || r.Capacity != capacityTotal {
		t.Errorf("got %+v", r)
	}
	if q := mustParse(t, "Scan", parseScan, `{"TableName":"abc","IndexName":"xyz","IndexName":null,"Limit":1.5,"Segment":0,"TotalSegments":1}`); q.Index != "" || q.Limit != 1 || q.Segments != 1 {
		t.Errorf("got %+v", q)
	}
}
