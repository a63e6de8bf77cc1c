package value

import (
	"errors"
	"strings"
	"testing"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func TestParseItem(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		v, err := ParseItem([]byte(in))
		if err != nil {
			t.Errorf("ParseItem(%.100s): %v", in, err)
			return
		}
		if got := string(v.AppendItem(nil)); got != want {
			t.Errorf("ParseItem(%.100s) = %s; want %s", in, got, want)
		}
		stored, err := Stored([]byte(want))
		if err != nil || string(stored.AppendItem(nil)) != want {
			t.Errorf("Stored(%s) = %s, %v", want, stored.AppendItem(nil), err)
		}
	}
	f(`{}`, `{}`)
	f(` { "a" : { "S" : "x" } , "b":{"N":"1.50e3"} } `, `{"a":{"S":"x"},"b":{"N":"1500"}}`)
	f(`{"a":{"S":""},"b":{"B":""},"c":{"L":[]},"d":{"M":{}}}`, `{"a":{"S":""},"b":{"B":""},"c":{"L":[]},"d":{"M":{}}}`)
	f(`{"a":{"L":[{"S":"x"},{"M":{"b":{"N":"1"}}},{"L":[{"NULL":true}]}]}}`, `{"a":{"L":[{"S":"x"},{"M":{"b":{"N":"1"}}},{"L":[{"NULL":true}]}]}}`)
	f(`{"a":{"SS":["b","","a"]},"b":{"NS":["2","1.0","-0"]},"c":{"BS":["","AAE="]}}`, `{"a":{"SS":["b","","a"]},"b":{"NS":["2","1","0"]},"c":{"BS":["","AAE="]}}`)
	f(`{"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}}`, `{"a":{"BOOL":true},"b":{"BOOL":false},"c":{"NULL":true}}`)
	// Other spellings of booleans that the service accepts.
	f(`{"a":{"BOOL":"TRUE"},"b":{"BOOL":"1"},"c":{"BOOL":"yes"},"d":{"NULL":"true"}}`, `{"a":{"BOOL":true},"b":{"BOOL":true},"c":{"BOOL":true},"d":{"NULL":true}}`)
	f(`{"a":{"BOOL":"false"},"b":{"BOOL":"0"},"c":{"BOOL":"No"}}`, `{"a":{"BOOL":false},"b":{"BOOL":false},"c":{"BOOL":false}}`)
	// Escapes, also in names of attributes and types.
	f(`{"\u0061\n":{"\u0053":"\ud83d\ude00\/\u0000"},"é":{"B":"+\/+\/"},"c":{"N":"\u0031"}}`, `{"a\n":{"S":"😀/\u0000"},"é":{"B":"+/+/"},"c":{"N":"1"}}`)
	f("{\"a\":{\"S\":\"\xff\"},\"b\":{\"S\":\"\\ud83d\"}}", `{"a":{"S":"�"},"b":{"S":"�"}}`)
	// Unknown members are ignored, and nulls count as missing.
	f(`{"a":{"X":[{"S":1}],"S":"x"},"b":{"N":null,"S":"x","BOOL":null}}`, `{"a":{"S":"x"},"b":{"S":"x"}}`)
	// Of members with one name the last counts, in the place of the first.
	f(`{"a":{"S":"1"},"b":{"S":"2"},"a":{"M":{"x":{"S":"3"},"x":{"S":"4"}}}}`, `{"a":{"M":{"x":{"S":"4"}}},"b":{"S":"2"}}`)
	f(`{"a":{"S":"x","S":"y"}}`, `{"a":{"S":"y"}}`)
	f(manyMembers(40)[:len(manyMembers(40))-1]+`,"a3":{"S":"again"}}`, strings.Replace(manyMembers(40), `"a3":{"S":"x"}`, `"a3":{"S":"again"}`, 1))
	f(nested(`{"M":{"b":`, `}}`, 31), nested(`{"M":{"b":`, `}}`, 31))
	f(nested(`{"L":[`, `]}`, 31), nested(`{"L":[`, `]}`, 31))
	f(`{"`+strings.Repeat("é", 32767)+`x":{"S":""}}`, `{"`+strings.Repeat("é", 32767)+`x":{"S":""}}`)
}

// nested returns an item with a value at a level of nested documents.
func nested(open, shut string, levels int) string {
	return `{"a":` + strings.Repeat(open, levels) + `{"S":"x"}` + strings.Repeat(shut, levels) + `}`
}

// manyMembers returns an item with attributes a0, a1, ...
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"a` + itoa(i) + `":{"S":"x"}`)
	}
	return "{" + b.String()[1:] + "}"
}

func itoa(i int) string {
	if i >= 10 {
		return itoa(i/10) + itoa(i%10)
	}
	return string(rune('0' + i))
}

// wantFault checks the type and the message of a parser's error.
func wantFault(t *testing.T, in string, err error, typ, message string) {
	t.Helper()
	var fault *wire.Error
	if !errors.As(err, &fault) {
		t.Errorf("%.100s: got error %v; want %s", in, err, message)
		return
	}
	if fault.Type != typ || fault.Message != message {
		t.Errorf("%.100s: got %s %s\nwant %s %s", in, fault.Type, fault.Message, typ, message)
	}
}

func TestInvalid(t *testing.T) {
	f := func(in, message string) {
		t.Helper()
		_, err := Parse([]byte(in))
		wantFault(t, in, err, "ValidationException", message)
		_, err = ParseItem([]byte(`{"a":{"L":[` + in + `]},"b":{}}`))
		wantFault(t, in, err, "ValidationException", message)
	}
	const (
		empty    = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
		several  = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes"
		wrong    = "One or more parameter values were invalid: "
		numeric  = "The parameter cannot be converted to a numeric value"
		overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
		under    = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
		nesting  = "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
	)
	f(`{}`, empty)
	f(`null`, empty)
	f(`{"X":"x"}`, empty)
	f(`{"s":"x"}`, empty)
	f(`{"S":null}`, empty)
	f(`{"L":[{}]}`, empty)
	f(`{"L":[null]}`, empty)
	f(`{"M":{"a":{}}}`, empty)
	f(`{"M":{"a":null}}`, empty)
	f(`{"S":"x","N":"1"}`, several)
	f(`{"S":"x","S":"y","N":"1"}`, several)
	f(`{"L":[],"M":{}}`, several)
	f(`{"S":"","N":""}`, numeric) // errors of a single value are reported first
	f(`{"N":"x","S":"a"}`, numeric+": x")
	f(`{"NULL":false}`, wrong+"Null attribute value types must have the value of true")
	f(`{"NULL":"no"}`, wrong+"Null attribute value types must have the value of true")
	f(`{"SS":[]}`, wrong+"An string set  may not be empty")
	f(`{"NS":[]}`, wrong+"An number set  may not be empty")
	f(`{"BS":[]}`, wrong+"Binary sets should not be empty")
	f(`{"SS":["a",null]}`, wrong+"An string set may not have a null string as a member")
	f(`{"NS":["1",null]}`, numeric)
	f(`{"BS":["AA==",null]}`, wrong+"Binary sets may not contain null or empty values")
	f(`{"SS":["a","a"]}`, wrong+"Input collection [a, a] contains duplicates.")
	f(`{"SS":["b","a","","\u0061"]}`, wrong+"Input collection [b, a, , a] contains duplicates.")
	f(`{"NS":["1","2","1"]}`, "Input collection contains duplicates")
	f(`{"NS":["1000","1e3"]}`, "Input collection contains duplicates")
	f(`{"NS":["0","-0.0"]}`, "Input collection contains duplicates")
	f(`{"BS":["Yg==","Yg=="]}`, wrong+"Input collection [Yg==, Yg==]of type BS contains duplicates.")
	f(`{"NS":["1","1","x"]}`, numeric+": x")
	f(`{"NS":["1",""]}`, numeric)
	f(`{"N":""}`, numeric)
	f(`{"N":"NaN"}`, numeric+": NaN")
	f(`{"N":" 1"}`, numeric+":  1")
	f(`{"N":"%d"}`, numeric+": %d")
	f(`{"N":"`+strings.Repeat("1", 39)+`"}`, "Attempting to store more than 38 significant digits in a Number")
	f(`{"N":"1e126"}`, overflow)
	f(`{"N":"-1e126"}`, overflow)
	f(`{"N":"1e-131"}`, under)
	f(`{"M":{"":{"S":"x"}}}`, "Empty attribute name")
	f(`{"M":{"`+strings.Repeat("x", 65536)+`":{"S":"x"}}}`, "Attribute name is too large, must be less than 65536 bytes")
	deep := func(open, shut string, levels int) string {
		return strings.TrimSuffix(strings.TrimPrefix(nested(open, shut, levels), `{"a":`), "}")
	}
	f(deep(`{"M":{"b":`, `}}`, 32), nesting)
	f(deep(`{"L":[`, `]}`, 32), nesting)
	f(deep(`{"L":[`, `]}`, 10_000), nesting)
}

func TestManyDuplicates(t *testing.T) {
	members := make([]string, 30)
	for i := range members {
		members[i] = itoa(i)
	}
	set := `{"NS":["` + strings.Join(members, `","`)
	if _, err := Parse([]byte(set + `"]}`)); err != nil {
		t.Error(err)
	}
	_, err := Parse([]byte(set + `","7.0"]}`))
	wantFault(t, set, err, "ValidationException", "Input collection contains duplicates")
}

func TestNames(t *testing.T) {
	_, err := ParseItem([]byte(`{"a":{"S":"x"},"":{"S":"x"}}`))
	wantFault(t, "empty name", err, "ValidationException", "Empty attribute name")
	_, err = ParseItem([]byte(`{"` + strings.Repeat("é", 32768) + `":{"S":"x"}}`))
	wantFault(t, "long name", err, "ValidationException", "Attribute name is too large, must be less than 65536 bytes")
}

func TestSerialization(t *testing.T) {
	f := func(in, message string) {
		t.Helper()
		_, err := Parse([]byte(in))
		wantFault(t, in, err, "SerializationException", message)
	}
	const structure = "Start of structure or map found where not expected"
	const list = "Unrecognized collection type "
	f(`{"S":true}`, "TRUE_VALUE cannot be converted to String")
	f(`{"N":false}`, "FALSE_VALUE cannot be converted to String")
	f(`{"N":3}`, "NUMBER_VALUE cannot be converted to String")
	f(`{"N":-3.5}`, "DECIMAL_VALUE cannot be converted to String")
	f(`{"N":3E5}`, "DECIMAL_VALUE cannot be converted to String")
	f(`{"S":{}}`, structure)
	f(`{"S":[]}`, list+"class java.lang.String")
	f(`{"B":1}`, "only base-64-encoded strings are convertible to bytes")
	f(`{"B":true}`, "only base-64-encoded strings are convertible to bytes")
	f(`{"B":{}}`, structure)
	f(`{"B":[]}`, list+"class java.nio.ByteBuffer")
	f(`{"B":"23456"}`, "Base64 encoded length is expected a multiple of 4 bytes but found: 5")
	f(`{"B":"=+/="}`, "Invalid last non-pad Base64 character dectected")
	f(`{"B":"+/+="}`, "Invalid last non-pad Base64 character dectected")
	f(`{"BS":["AA==","A"]}`, "Base64 encoded length is expected a multiple of 4 bytes but found: 1")
	f(`{"BOOL":1}`, "NUMBER_VALUE cannot be converted to Boolean")
	f(`{"BOOL":"maybe"}`, "Unexpected token received from parser")
	f(`{"NULL":[]}`, list+"class java.lang.Boolean")
	f(`{"SS":"a"}`, "Unexpected field type")
	f(`{"SS":{}}`, structure)
	f(`{"SS":[1]}`, "NUMBER_VALUE cannot be converted to String")
	f(`{"L":true}`, "Unexpected field type")
	f(`{"L":["a"]}`, "Unexpected value type in payload")
	f(`{"L":[[]]}`, list+"class com.amazonaws.dynamodb.v20120810.AttributeValue")
	f(`{"M":"a"}`, "Unexpected field type")
	f(`{"M":[]}`, list+"java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>")
	f(`"S"`, "Unexpected value type in payload")
	for _, in := range []string{``, `{`, `{"S"`, `{"S":`, `{"S":"x"`, `{"S":"x`, `{"S" "x"}`, `{"S":"x"}}`, `{"S":"x"} x`, `{"S":"\x"}`, `{"S":"x",}`,
		`{"SS":["a" "b"]}`, `{"SS":["a",]}`, `{"L":[{"S":"x"}`, `{"M":{"a"}}`, `{"M":{a:{"S":"x"}}}`, `{"X":`, `{"S":nil}`, `{"S":x}`, `{"NULL":truth}`, "{\"S\":\"\x01\"}"} {
		f(in, "")
	}
}

// TestOwned changes the text that a value was parsed from, as happens with a pooled body.
func TestOwned(t *testing.T) {
	text := []byte(`{"name":{"S":"x\n"},"list":{"L":[{"N":"1"},{"B":"AAE="}]}}`)
	v, err := ParseItem(text)
	if err != nil {
		t.Fatal(err)
	}
	want := string(v.AppendItem(nil))
	for i := range text {
		text[i] = '?'
	}
	if got := string(v.AppendItem(nil)); got != want {
		t.Errorf("the value changed to %s", got)
	}
}

// TestErrorsAreNotShared changes an error, as callers do that add to its message.
func TestErrorsAreNotShared(t *testing.T) {
	for range 2 {
		_, err := Parse([]byte(`{}`))
		wantFault(t, "{}", err, "ValidationException", "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
		err.(*wire.Error).Message = "mine"
	}
}
