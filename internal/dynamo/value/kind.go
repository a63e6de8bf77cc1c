package value

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// kind is the type of value that the API expects in a place.
type kind uint8

const (
	kindString kind = iota
	kindBlob
	kindBoolean
	kindList
	kindMap
	attributeValue
)

// classes are the names of the kinds in messages about a list.
var classes = [...]string{
	kindString:     "class java.lang.String",
	kindBlob:       "class java.nio.ByteBuffer",
	kindBoolean:    "class java.lang.Boolean",
	kindMap:        "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
	attributeValue: "class com.amazonaws.dynamodb.v20120810.AttributeValue",
}

// typeError records the error for the next value, which is not of the kind wanted.
func (d *decoder) typeError(want kind) {
	if want == attributeValue && d.null() {
		d.fail(errNoType)
		return
	}
	got := d.token()
	switch {
	case got == "":
		d.fail(errSyntax)
	case got == "{":
		d.fail(serialization("Start of structure or map found where not expected"))
	case got == "[":
		d.fail(serialization("Unrecognized collection type " + classes[want]))
	case want == attributeValue:
		d.fail(serialization("Unexpected value type in payload"))
	case want == kindList || want == kindMap:
		d.fail(serialization("Unexpected field type"))
	case want == kindBlob:
		d.fail(serialization("only base-64-encoded strings are convertible to bytes"))
	case want == kindBoolean:
		d.fail(serialization(got + " cannot be converted to Boolean"))
	default:
		d.fail(serialization(got + " cannot be converted to String"))
	}
}

// token returns the name of the next value in the service's messages: "{" or "[" for objects
// and lists, which have none, and "" if there is no value.
func (d *decoder) token() string {
	first, end := d.peek(), wire.SkipValue(d.text, d.pos)
	switch {
	case first == '{':
		return "{"
	case first == '[':
		return "["
	case end < 0:
		return ""
	case first == '"':
		return "STRING_VALUE"
	case d.literal("true"):
		return "TRUE_VALUE"
	case d.literal("false"):
		return "FALSE_VALUE"
	case first != '-' && (first < '0' || first > '9'):
		return ""
	case bytes.ContainsAny(d.text[d.pos:end], ".eE"):
		return "DECIMAL_VALUE"
	}
	return "NUMBER_VALUE"
}
