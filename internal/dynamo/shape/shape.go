package shape

import "math"

// kind is the kind of a shape.
type kind uint8

const (
	stringKind kind = iota + 1
	booleanKind
	integerKind // of 32 bits
	longKind
	blobKind
	listKind
	mapKind
	structKind
	attributeKind // AttributeValue, a structure that is read without its fields
)

// unbounded is the bound of a member without one.
const unbounded = math.MaxInt64

// shape is a type of the API with its constraints. Shapes are made once, when the program
// starts, and never change.
type shape struct {
	kind kind
	// class is the name of the type in messages: that of its Java class, without the package.
	class  string
	fields []field // of a structure, in the order in which faults are reported
	elem   *shape  // of a list, or of the values of a map

	// min and max bound a number, the length of a string, or the size of a list or map.
	min, max int64
	enum     []string // the values that a string may have, in the order of the message
	name     bool     // a string must have the form of a table's or index's name
	table    bool     // with name: it may be the ARN of a table too
	// names constrains a map's keys; all keys are reported as one fault. If values is set,
	// so are its values.
	names  *shape
	values bool

	hidden   []string // members that only the service has, where it echoes a structure
	echoJSON bool     // a map is echoed as JSON

	bound bool // a value of the right type may still break a constraint of this shape
}

// field is a member of a structure.
type field struct {
	name     string
	shape    *shape
	required bool
	// shortForm marks a constraint that, if it is the only fault, is reported in a newer
	// form: without the value, and with the members' names as the API writes them.
	shortForm bool
}

func structure(class string, fields ...field) *shape {
	return &shape{kind: structKind, class: class, fields: fields, max: unbounded}
}

// packageName is the Java package of the service's structures.
const packageName = "com.amazonaws.dynamodb.v20120810."

// member returns an optional field.
func member(name string, s *shape) field {
	return field{name: name, shape: s}
}

// label returns the name as messages write it: with a small first letter.
func (f *field) label() string { return string(f.name[0]|0x20) + f.name[1:] }

func required(name string, s *shape) field {
	return field{name: name, shape: s, required: true}
}

// shortForm returns f with the newer form of its fault.
func shortForm(f field) field {
	f.shortForm = true
	return f
}

func listOf(elem *shape, min, max int64) *shape {
	return &shape{kind: listKind, elem: elem, min: min, max: max, bound: min > 0 || max < unbounded}
}

func mapOf(elem *shape) *shape {
	return &shape{kind: mapKind, elem: elem, max: unbounded}
}

func enumOf(values ...string) *shape {
	return &shape{kind: stringKind, enum: values, max: unbounded, bound: true}
}

func text(min, max int64) *shape {
	return &shape{kind: stringKind, min: min, max: max, bound: true}
}

func name(min, max int64) *shape {
	return &shape{kind: stringKind, min: min, max: max, name: true, bound: true}
}

// tableName returns the shape of a table's name or ARN of at least min characters.
func tableName(min int64) *shape {
	return &shape{kind: stringKind, min: min, max: 255, name: true, table: true, bound: true}
}

func number(k kind, min, max int64) *shape {
	return &shape{kind: k, min: min, max: max, bound: min > math.MinInt64 || max < unbounded}
}

// Shapes that many requests share.
var (
	anyText   = &shape{kind: stringKind, max: unbounded}
	flag      = &shape{kind: booleanKind, max: unbounded}
	blob      = &shape{kind: blobKind, max: unbounded}
	attribute = &shape{kind: attributeKind, class: "AttributeValue", max: unbounded}

	item       = mapOf(attribute) // an item, a key, or the values of an expression
	attributes = listOf(attribute, 0, unbounded)
	textByName = mapOf(anyText)
)

// findField returns the index of the field called name, or -1 if there is none.
func (s *shape) findField(name []byte) int {
	for i := range s.fields {
		if f := &s.fields[i]; len(f.name) == len(name) && f.name == string(name) {
			return i
		}
	}
	return -1
}
