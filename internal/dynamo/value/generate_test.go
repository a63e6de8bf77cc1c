package value

import (
	"strconv"

	"pgregory.net/rapid"
)

// numberText generates the text of a number in any of its spellings.
func numberText(r *rapid.T) string {
	digits := rapid.StringMatching(`[0-9]{1,20}`)
	text := rapid.SampledFrom([]string{"", "-", "+"}).Draw(r, "sign") + digits.Draw(r, "whole")
	if rapid.Bool().Draw(r, "point") {
		text += "." + rapid.StringMatching(`[0-9]{0,18}`).Draw(r, "fraction")
	}
	if rapid.Bool().Draw(r, "power") {
		text += "e" + strconv.Itoa(rapid.IntRange(-130, 105).Draw(r, "exponent"))
	}
	return text
}

// number generates a Number, near others or anywhere in the range.
func number(r *rapid.T) Value {
	for {
		if v, err := Parse([]byte(`{"N":"` + numberText(r) + `"}`)); err == nil {
			return v
		}
	}
}

// text generates bytes in which zeros and neighbours of zero are frequent.
func text(r *rapid.T) []byte {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 1, 'a', 'b', 0x7e}), 0, 6).Draw(r, "text")
}

// scalar generates a value of a type that can be a key.
func scalar(r *rapid.T, typ Type) Value {
	switch typ {
	case Number:
		return number(r)
	case Binary:
		return Value{Type: Binary, Text: append(text(r), rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(r, "bytes")...)}
	}
	return Value{Type: String, Text: append(text(r), rapid.StringN(0, 4, -1).Draw(r, "string")...)}
}

var scalarTypes = []Type{String, Number, Binary}

// anyValue generates a value with at most depth nested levels.
func anyValue(r *rapid.T, depth int) Value {
	kinds := []Type{String, Number, Binary, Bool, Null, StringSet, NumberSet, BinarySet, List, Map}
	if depth == 0 {
		kinds = kinds[:8]
	}
	v := Value{Type: rapid.SampledFrom(kinds).Draw(r, "type")}
	switch v.Type {
	case Bool:
		v.Bool = rapid.Bool().Draw(r, "bool")
	case Null:
	case StringSet, NumberSet, BinarySet:
		for range rapid.IntRange(1, 20).Draw(r, "members") {
			if m := scalar(r, v.Type.Element()); !Contains(v.Items, &m) {
				v.Items = append(v.Items, m)
			}
		}
	case List:
		for range rapid.IntRange(0, 3).Draw(r, "elements") {
			v.Items = append(v.Items, anyValue(r, depth-1))
		}
	case Map:
		return anyMap(r, depth)
	default:
		return scalar(r, v.Type)
	}
	return v
}

// anyMap generates a Map, which is also a valid item.
func anyMap(r *rapid.T, depth int) Value {
	v := Value{Type: Map}
	for range rapid.IntRange(0, 20).Draw(r, "attributes") {
		name := rapid.StringN(1, 3, -1).Draw(r, "name")
		if v.Get(name) == nil {
			v.Members = append(v.Members, Member{Name: name, Value: anyValue(r, depth-1)})
		}
	}
	return v
}
