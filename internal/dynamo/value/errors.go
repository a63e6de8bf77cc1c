package value

import (
	"bytes"
	"encoding/base64"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const invalid = "One or more parameter values were invalid: "

var (
	errSyntax  = serialization("")
	errNoType  = wire.Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errTypes   = wire.Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	errNull    = wire.Invalid(invalid + "Null attribute value types must have the value of true")
	errNesting = wire.Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
	errNoName  = wire.Invalid(invalid + "Empty attribute name")
	errName    = wire.Invalid(invalid+"Attribute name is too large, must be less than %d bytes", maxName+1)

	// Two spaces in the first two, as the service has them.
	errNoStrings  = wire.Invalid(invalid + "An string set  may not be empty")
	errNoNumbers  = wire.Invalid(invalid + "An number set  may not be empty")
	errNoBinaries = wire.Invalid(invalid + "Binary sets should not be empty")
	errNumbers    = wire.Invalid("Input collection contains duplicates")
)

func serialization(message string) *wire.Error {
	return &wire.Error{Type: "SerializationException", Message: message}
}

func checkName(name []byte) error {
	switch {
	case len(name) == 0:
		return errNoName
	case len(name) > maxName:
		return errName
	}
	return nil
}

// checkSet looks for what only the whole set shows.
func checkSet(v *Value) error {
	if len(v.Items) == 0 {
		switch v.Type {
		case StringSet:
			return errNoStrings
		case NumberSet:
			return errNoNumbers
		}
		return errNoBinaries
	}
	if !hasDuplicates(v.Items) {
		return nil
	}
	switch v.Type {
	case StringSet:
		return wire.Invalid(invalid+"Input collection %s contains duplicates.", listing(v))
	case NumberSet:
		return errNumbers
	}
	return wire.Invalid(invalid+"Input collection %sof type BS contains duplicates.", listing(v))
}

// listing writes the members of a set as the service's messages do: [a, b].
func listing(v *Value) []byte {
	out := []byte{'['}
	for i := range v.Items {
		if i > 0 {
			out = append(out, ',', ' ')
		}
		if v.Type == BinarySet {
			out = base64.StdEncoding.AppendEncode(out, v.Items[i].Text)
		} else {
			out = append(out, v.Items[i].Text...)
		}
	}
	return append(out, ']')
}

func hasDuplicates(items []Value) bool {
	if len(items) <= fewMembers {
		for i := range items {
			for j := range i {
				if bytes.Equal(items[i].Text, items[j].Text) {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[string]struct{}, len(items))
	for i := range items {
		seen[string(items[i].Text)] = struct{}{}
	}
	return len(seen) < len(items)
}

// kind is what the API wants in a place.
type kind uint8

const (
	kindString kind = iota
	kindBlob
	kindBoolean
	kindList
	kindMap
	attributeValue
)

// classes are the names that messages have for the kinds, where a list is met.
var classes = [...]string{
	kindString:     "class java.lang.String",
	kindBlob:       "class java.nio.ByteBuffer",
	kindBoolean:    "class java.lang.Boolean",
	kindMap:        "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
	attributeValue: "class com.amazonaws.dynamodb.v20120810.AttributeValue",
}

// misfit is the error for the next value, which is not of the kind wanted.
func (d *decoder) misfit(want kind) error {
	got := d.peek()
	switch {
	case got == '{':
		return serialization("Start of structure or map found where not expected")
	case got == '[':
		return serialization("Unrecognized collection type " + classes[want])
	case want == attributeValue && got == 'n':
		if !d.literal("null") {
			return errSyntax
		}
		return errNoType
	case want == attributeValue:
		return serialization("Unexpected value type in payload")
	case want == kindList || want == kindMap:
		return serialization("Unexpected field type")
	case want == kindBlob:
		return serialization("only base-64-encoded strings are convertible to bytes")
	}
	to := " cannot be converted to String"
	if want == kindBoolean {
		to = " cannot be converted to Boolean"
	}
	switch got {
	case 't':
		return serialization("TRUE_VALUE" + to)
	case 'f':
		return serialization("FALSE_VALUE" + to)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		end := wire.SkipValue(d.text, d.pos)
		if end > 0 && bytes.ContainsAny(d.text[d.pos:end], ".eE") {
			return serialization("DECIMAL_VALUE" + to)
		}
		return serialization("NUMBER_VALUE" + to)
	}
	return errSyntax
}
