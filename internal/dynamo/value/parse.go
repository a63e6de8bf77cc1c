package value

import (
	"bytes"
	"unsafe"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxName is the maximum length of an attribute name.
const maxName = 65535

// Parse reads an attribute value and checks it as the service does; the error is a
// *wire.Error. The value shares no memory with text. wire.Valid must have accepted text;
// otherwise Parse may miss that it is not JSON.
func Parse(text []byte) (Value, error) {
	return decode(bytes.Clone(text), true, false)
}

// ParseItem reads an object of attribute values, such as an Item or a Key, and checks it as
// the service does. The value shares no memory with text.
func ParseItem(text []byte) (Value, error) {
	return decode(bytes.Clone(text), true, true)
}

// Stored reads the output of AppendItem. It checks only that the text is JSON of that shape.
// The value may alias text, which must not change afterwards.
func Stored(text []byte) (Value, error) {
	return decode(text, false, true)
}

func decode(text []byte, strict, item bool) (v Value, err error) {
	d := decoders.Get().(*decoder)
	d.text, d.strict = text, strict
	if item {
		v.Type, v.Members = Map, d.object(1)
	} else {
		v = d.value(1)
	}
	if d.fault == nil && wire.SkipSpace(text, d.pos) != len(text) {
		d.fault = errSyntax
	}
	fault := d.fault
	d.release()
	if fault != nil {
		mine := *fault // callers may wrap its message
		return Value{}, &mine
	}
	return v, nil
}

// maxLevels is the maximum nesting of documents: an attribute's value is at level 1, its
// elements are at level 2.
const maxLevels = 32

// value reads an attribute value at a level.
func (d *decoder) value(level int) (v Value) {
	if level > maxLevels {
		d.fail(errNesting)
		return v
	}
	if !d.accept('{') {
		d.typeError(attributeValue)
		return v
	}
	if !d.strict {
		return d.single(level)
	}
	types := 0
	for n := 0; d.next(n, '}'); n++ {
		typ := typeOf(d.name())
		switch {
		case typ == 0:
			d.skip()
		case d.null():
		default:
			types |= 1 << typ
			v = d.typed(typ, level)
		}
	}
	switch {
	case types == 0:
		d.fail(errNoType)
	case types&(types-1) != 0:
		d.fail(errTypes)
	}
	return v
}

// single reads the object that Append wrote after its opening brace: one member. A String
// without escapes and a Number are read in one step.
func (d *decoder) single(level int) Value {
	b := d.text[d.pos:]
	if len(b) > len(`"S":""}`) && string(b[2:5]) == `":"` && (b[1] == 'S' || b[1] == 'N') {
		raw, next, escaped := wire.ReadString(b, len(`"S":`))
		if next > 0 && next < len(b) && b[next] == '}' && !escaped {
			d.pos += next + 1
			return Value{Type: typeOf(b[1:2]), Text: raw}
		}
	}
	typ := typeOf(d.name())
	if typ == 0 {
		d.fail(errNoType)
		return Value{}
	}
	v := d.typed(typ, level)
	if !d.accept('}') {
		d.fail(errSyntax)
	}
	return v
}

// typed reads the content of an attribute value of type typ.
func (d *decoder) typed(typ Type, level int) Value {
	v := Value{Type: typ}
	switch typ {
	case Bool:
		v.Bool = d.boolean()
	case Null:
		if !d.boolean() {
			d.fail(errNull)
		}
	case StringSet, NumberSet, BinarySet:
		v.Items = d.set(typ)
	case List:
		v.Items = d.list(level + 1)
	case Map:
		v.Members = d.object(level + 1)
	default:
		v.Text = d.scalar(typ)
	}
	return v
}

// set reads the content of a set.
func (d *decoder) set(typ Type) []Value {
	if !d.accept('[') {
		d.typeError(kindList)
		return nil
	}
	base := len(d.items)
	for n := 0; d.next(n, ']'); n++ {
		if d.null() {
			d.fail(nullElement(typ))
			return nil
		}
		element := typ.Element()
		d.items = append(d.items, Value{Type: element, Text: d.scalar(element)})
	}
	items := d.closeList(base)
	if d.strict && d.fault == nil {
		d.fault = checkSet(typ, items)
	}
	return items
}

// list reads the content of a List whose elements are at a level.
func (d *decoder) list(level int) []Value {
	if !d.accept('[') {
		d.typeError(kindList)
		return nil
	}
	base := len(d.items)
	for n := 0; d.next(n, ']'); n++ {
		d.items = append(d.items, d.value(level))
	}
	return d.closeList(base)
}

// object reads the content of a Map whose values are at a level.
func (d *decoder) object(level int) []Member {
	if !d.accept('{') {
		d.typeError(kindMap)
		return nil
	}
	base := len(d.members)
	for n := 0; d.next(n, '}'); n++ {
		name := d.name()
		if d.fault == nil {
			d.fault = checkName(name)
		}
		d.members = append(d.members, Member{Name: unsafe.String(unsafe.SliceData(name), len(name)), Value: d.value(level)})
	}
	return d.closeMap(base)
}
