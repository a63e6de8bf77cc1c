package embedded

import (
	"bytes"
	"math"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/shape"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// field is a member of a request on items, or of a part of one.
type field uint8

// The fields of conditions, projections and updates are first, in the order in which
// messages list them: the legacy members, then the expressions.
const (
	fieldAttributesToGet field = iota
	fieldAttributeUpdates
	fieldExpected
	fieldQueryFilter
	fieldScanFilter
	fieldConditionalOperator
	fieldKeyConditions

	fieldProjection
	fieldFilter
	fieldKeyCondition
	fieldUpdate
	fieldCondition
	fieldSearchCondition

	fieldNames
	fieldValues
	fieldTable
	fieldItem
	fieldKey
	fieldIndex
	fieldSelect
	fieldLimit
	fieldConsistent
	fieldForward
	fieldStart
	fieldSegment
	fieldSegments
	fieldReturn
	fieldReturnOnFailure
	fieldCapacity
	fieldMetrics
	fieldKeys
	fieldRequestItems
	fieldPutRequest
	fieldDeleteRequest
	fieldTransactItems
	fieldToken
	fieldGet
	fieldCheckAction
	fieldPutAction
	fieldUpdateAction
	fieldDeleteAction
	fieldStatement
	fieldParameters
	fieldNextToken
	fieldStatements
	fieldTransactStatements
	fieldSearchVector
	fieldTopK
	fieldCount

	firstExpression = fieldProjection
	firstWithValues = fieldFilter // expressions from here on may have values
	endExpressions  = fieldNames
)

var fieldText = [fieldCount]string{
	fieldAttributesToGet:     "AttributesToGet",
	fieldAttributeUpdates:    "AttributeUpdates",
	fieldExpected:            "Expected",
	fieldQueryFilter:         "QueryFilter",
	fieldScanFilter:          "ScanFilter",
	fieldConditionalOperator: "ConditionalOperator",
	fieldKeyConditions:       "KeyConditions",
	fieldProjection:          "ProjectionExpression",
	fieldFilter:              "FilterExpression",
	fieldKeyCondition:        "KeyConditionExpression",
	fieldUpdate:              "UpdateExpression",
	fieldCondition:           "ConditionExpression",
	fieldSearchCondition:     "SearchConditionExpression",
	fieldNames:               "ExpressionAttributeNames",
	fieldValues:              "ExpressionAttributeValues",
	fieldTable:               "TableName",
	fieldItem:                "Item",
	fieldKey:                 "Key",
	fieldIndex:               "IndexName",
	fieldSelect:              "Select",
	fieldLimit:               "Limit",
	fieldConsistent:          "ConsistentRead",
	fieldForward:             "ScanIndexForward",
	fieldStart:               "ExclusiveStartKey",
	fieldSegment:             "Segment",
	fieldSegments:            "TotalSegments",
	fieldReturn:              "ReturnValues",
	fieldReturnOnFailure:     "ReturnValuesOnConditionCheckFailure",
	fieldCapacity:            "ReturnConsumedCapacity",
	fieldMetrics:             "ReturnItemCollectionMetrics",
	fieldKeys:                "Keys",
	fieldRequestItems:        "RequestItems",
	fieldPutRequest:          "PutRequest",
	fieldDeleteRequest:       "DeleteRequest",
	fieldTransactItems:       "TransactItems",
	fieldToken:               "ClientRequestToken",
	fieldGet:                 "Get",
	fieldCheckAction:         "ConditionCheck",
	fieldPutAction:           "Put",
	fieldUpdateAction:        "Update",
	fieldDeleteAction:        "Delete",
	fieldStatement:           "Statement",
	fieldParameters:          "Parameters",
	fieldNextToken:           "NextToken",
	fieldStatements:          "Statements",
	fieldTransactStatements:  "TransactStatements",
	fieldSearchVector:        "SearchVector",
	fieldTopK:                "TopK",
}

var fieldsByText = func() map[string]field {
	m := make(map[string]field, fieldCount)
	for f, text := range fieldText {
		m[text] = field(f)
	}
	return m
}()

// fieldSet is a bit set of fields.
type fieldSet uint64

func fieldsOf(list ...field) (s fieldSet) {
	for _, f := range list {
		s |= 1 << f
	}
	return s
}

func (s fieldSet) has(f field) bool { return s&(1<<f) != 0 }

// between returns the fields of the set in [first, end).
func (s fieldSet) between(first, end field) fieldSet { return s & (1<<end - 1<<first) }

// list joins the names of the fields.
func (s fieldSet) list(separator string) string {
	var names []string
	for f, text := range fieldText {
		if s.has(field(f)) {
			names = append(names, text)
		}
	}
	return strings.Join(names, separator)
}

// fields are the values of a request's fields, as written; nil for a missing one.
type fields struct {
	of     fieldSet // the allowed fields
	given  fieldSet // the present fields
	values [fieldCount][]byte
}

// readFields reads an object that shape.Check has accepted. Of several members with one name
// the last counts; null is no value.
func readFields(f *fields, object []byte, of fieldSet) {
	*f = fields{of: of}
	for it := wire.Object(object); it.Next(); {
		i, ok := findField(it.Name())
		if !ok || !of.has(i) {
			continue
		}
		if v := it.Value(); v[0] != 'n' {
			f.values[i] = v
			f.given |= 1 << i
		} else {
			f.values[i] = nil
			f.given &^= 1 << i
		}
	}
}

func findField(name []byte) (f field, ok bool) {
	if f, ok = fieldsByText[string(name)]; !ok && bytes.IndexByte(name, '\\') >= 0 {
		f, ok = fieldsByText[string(decodedName(name))]
	}
	return f, ok
}

func decodedName(raw []byte) []byte {
	text, _ := wire.AppendName(nil, raw)
	return text
}

// text returns the text of a string; nil for none.
func (f *fields) text(i field) []byte { return stringText(f.values[i]) }

// stringText returns the text of a JSON string, which it may alias.
func stringText(quoted []byte) []byte {
	if quoted == nil {
		return nil
	}
	if text, ok := wire.Plain(quoted); ok {
		return text
	}
	text, _ := wire.AppendString(nil, quoted)
	return text
}

// flag returns a boolean, false for none.
func (f *fields) flag(i field) bool {
	v := f.values[i]
	return v != nil && shape.True(v)
}

// number returns an integer, 0 for none.
func (f *fields) number(i field) int {
	if f.values[i] == nil {
		return 0
	}
	return int(min(shape.Integer(f.values[i]), math.MaxInt32))
}

// table returns the table that the request names by its name or ARN.
func (f *fields) table() (table, named string) {
	return tableOf(string(f.text(fieldTable)))
}

func tableOf(named string) (string, string) {
	table, _ := shape.TableName(named)
	return table, named
}

func (f *fields) capacity() capacityMode {
	switch string(f.text(fieldCapacity)) {
	case "TOTAL":
		return capacityTotal
	case "INDEXES":
		return capacityIndexes
	}
	return capacityNone
}

func (f *fields) metrics() bool { return string(f.text(fieldMetrics)) == "SIZE" }

func (f *fields) returnOnFailure() bool { return string(f.text(fieldReturnOnFailure)) == "ALL_OLD" }

func (f *fields) returns() returnMode {
	switch string(f.text(fieldReturn)) {
	case "ALL_OLD":
		return returnAllOld
	case "UPDATED_OLD":
		return returnUpdatedOld
	case "ALL_NEW":
		return returnAllNew
	case "UPDATED_NEW":
		return returnUpdatedNew
	}
	return returnNone
}

func (f *fields) selects() selectMode {
	switch string(f.text(fieldSelect)) {
	case "ALL_ATTRIBUTES":
		return selectAllAttributes
	case "ALL_PROJECTED_ATTRIBUTES":
		return selectProjected
	case "SPECIFIC_ATTRIBUTES":
		return selectSpecific
	case "COUNT":
		return selectCount
	}
	return selectDefault
}
