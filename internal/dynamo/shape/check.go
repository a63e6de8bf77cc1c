package shape

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// Check checks the body of a request against the shape of its operation. wire.Valid must
// have accepted the body, which must be an object. The error is a *wire.Error; Check returns
// nil for an operation that has no shape here.
func Check(operation string, body []byte) error {
	o := operations[operation]
	if o == nil {
		return nil
	}
	c := checker{b: body}
	c.structure(wire.SkipSpace(body, 0), o.input())
	if c.err != nil {
		return c.err
	}
	if !c.faulty {
		return nil
	}
	// There may be no fault after all: the faulty value may belong to a name that occurs
	// again later.
	faults := o.input().faults(body)
	if len(faults) == 0 {
		return nil
	}
	return o.explain(body, faults)
}

// place is the context of a value, which some messages depend on.
type place uint8

const (
	inField place = iota // a structure's member
	inside               // an element of a list or a value of a map
)

// checker walks over a body. Its methods take the index at which a value begins and return
// the index after it, or -1 once there is an error.
type checker struct {
	b      []byte
	err    *wire.Error // for the first value of the wrong type
	faulty bool        // a constraint is broken
}

// value checks one value that is not null.
func (c *checker) value(i int, s *shape, where place) int {
	if !s.accepts(c.b[i]) {
		return c.typeError(i, s, where)
	}
	switch s.kind {
	case stringKind, booleanKind, blobKind:
		return c.scalar(i, s)
	case integerKind, longKind:
		return c.number(i, s)
	case listKind:
		return c.list(i, s)
	case mapKind:
		return c.dictionary(i, s)
	case attributeKind:
		return c.attribute(i)
	}
	return c.structure(i, s)
}

// accepts reports whether a value that begins with first may have the shape.
func (s *shape) accepts(first byte) bool {
	switch s.kind {
	case stringKind, blobKind:
		return first == '"'
	case booleanKind:
		return first == 't' || first == 'f' || first == '"'
	case integerKind, longKind:
		return first == '-' || '0' <= first && first <= '9'
	case listKind:
		return first == '['
	}
	return first == '{'
}

func (c *checker) fail(message string) int {
	if c.err == nil {
		c.err = &wire.Error{Type: "SerializationException", Message: message}
	}
	return -1
}

// scalar checks a string, or a boolean, which may be written as a string.
func (c *checker) scalar(i int, s *shape) int {
	raw, next, escaped := wire.ReadString(c.b, i)
	switch {
	case next < 0: // true or false
		return wire.SkipValue(c.b, i)
	case s.kind == booleanKind:
		if _, ok := parseBool(raw); !ok {
			return c.fail("Unexpected token received from parser")
		}
	case s.kind == blobKind:
		return c.blob(raw, next, escaped)
	case s.bound && !c.faulty:
		c.faulty = !s.allows(raw, escaped)
	}
	return next
}

// True reads a boolean, which may be written as a string, and reports whether it is true.
func True(text []byte) bool {
	raw, next, _ := wire.ReadString(text, 0)
	if next < 0 {
		return text[0] == 't'
	}
	value, _ := parseBool(raw)
	return value
}

// parseBool reads a boolean that is written as a string.
func parseBool(raw []byte) (value, ok bool) {
	for word, v := range boolWords {
		if ascii.EqualFold(raw, word) {
			return v, true
		}
	}
	return false, false
}

var boolWords = map[string]bool{"true": true, "1": true, "yes": true, "false": false, "0": false, "no": false}

// blob checks that a string is base64 as the service requires it.
func (c *checker) blob(raw []byte, next int, escaped bool) int {
	if escaped {
		text, _ := wire.AppendString(nil, c.b[next-len(raw)-2:next])
		raw = text
	}
	if fault := wire.BinaryFault(raw); fault != "" {
		return c.fail(fault)
	}
	return next
}

// allows reports whether a string, as written, satisfies the constraints.
func (s *shape) allows(raw []byte, escaped bool) bool {
	if s.enum == nil && !escaped && isASCII(raw) {
		n := int64(len(raw))
		if n < s.min || n > s.max && !(s.table && isARN(raw)) {
			return false
		}
		return !s.name || s.nameFits(raw)
	}
	if s.enum != nil && !escaped {
		return slices.Contains(s.enum, string(raw))
	}
	return len(s.textFaults(decoded(raw))) == 0
}

// nameFits checks the constraint on names, for a name that is all ASCII.
func (s *shape) nameFits(raw []byte) bool {
	for i, c := range raw {
		if !nameBytes[c] {
			return s.table && c == ':' && i == 3 && isARN(raw)
		}
	}
	return len(raw) > 0
}

var nameBytes = func() (t [256]bool) {
	for i := range t {
		t[i] = isName(string([]byte{byte(i)}))
	}
	return t
}()

func isARN(raw []byte) bool {
	_, ok := TableName(string(raw))
	return ok && len(raw) > 4 && string(raw[:4]) == "arn:"
}

func isASCII(raw []byte) bool {
	for _, c := range raw {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// number checks a number. Like the service, it drops the fraction.
func (c *checker) number(i int, s *shape) int {
	next := wire.SkipValue(c.b, i)
	if s.bound && !c.faulty {
		n := Integer(c.b[i:next])
		c.faulty = n < s.min || n > s.max
	}
	return next
}

// Integer returns the whole part of a JSON number, or the limit of the range that it
// exceeds. An exponent is ignored: clients don't write one there.
func Integer(text []byte) int64 {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		if n > (math.MaxInt64-9)/10 {
			n = math.MaxInt64
			break
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}

// element checks an element of a list or a value of a map. A structure, map or list must
// not be null there; the nulls of other types are checked elsewhere.
func (c *checker) element(i int, s *shape) int {
	if c.b[i] != 'n' {
		return c.value(i, s.elem, inside)
	}
	if s.elem.isContainer() {
		c.faulty = true
	}
	return wire.SkipValue(c.b, i)
}

func (s *shape) isContainer() bool {
	return s.kind == structKind || s.kind == mapKind || s.kind == listKind
}

// list checks the elements of a list.
func (c *checker) list(i int, s *shape) int {
	n := int64(0)
	for i = c.open(i); c.b[i] != ']'; i = c.comma(i) {
		n++
		if i = c.element(i, s); i < 0 {
			return -1
		}
	}
	if s.bound && (n < s.min || n > s.max) {
		c.faulty = true
	}
	return i + 1
}

// open moves into a list or an object: to its first element or member, or to its closing
// bracket.
func (c *checker) open(i int) int { return wire.SkipSpace(c.b, i+1) }

// comma moves from the end of a value to the next value, or to the closing bracket.
func (c *checker) comma(i int) int {
	if i = wire.SkipSpace(c.b, i); c.b[i] == ',' {
		i = wire.SkipSpace(c.b, i+1)
	}
	return i
}

// member moves from a member's name to its value.
func (c *checker) member(i int) (name []byte, escaped bool, at int) {
	name, next, escaped := wire.ReadString(c.b, i)
	next = wire.SkipSpace(c.b, next)
	return name, escaped, wire.SkipSpace(c.b, next+1)
}

func (c *checker) dictionary(i int, s *shape) int {
	n := int64(0)
	for i = c.open(i); c.b[i] != '}'; i = c.comma(i) {
		var name []byte
		var escaped bool
		name, escaped, i = c.member(i)
		n++
		if s.names != nil && !s.names.allows(name, escaped) {
			c.faulty = true
		}
		if i = c.element(i, s); i < 0 {
			return -1
		}
	}
	if s.bound && (n < s.min || n > s.max) {
		c.faulty = true
	}
	return i + 1
}

// structure checks the members that the shape has and skips all others. Of several members
// with one name the last counts, here and in faults.
func (c *checker) structure(i int, s *shape) int {
	seen := uint64(0)
	for i = c.open(i); c.b[i] != '}'; i = c.comma(i) {
		var name []byte
		var escaped bool
		name, escaped, i = c.member(i)
		if escaped {
			name = []byte(decoded(name))
		}
		f := s.findField(name)
		switch {
		case f < 0:
			i = wire.SkipValue(c.b, i)
		case c.b[i] == 'n':
			seen &^= 1 << f
			i = wire.SkipValue(c.b, i)
		default:
			seen |= 1 << f
			if i = c.value(i, s.fields[f].shape, inField); i < 0 {
				return -1
			}
		}
	}
	if !c.faulty && !s.complete(seen) {
		c.faulty = true
	}
	return i + 1
}

// complete reports whether all required fields have been seen.
func (s *shape) complete(seen uint64) bool {
	for i := range s.fields {
		if s.fields[i].required && seen&(1<<i) == 0 {
			return false
		}
	}
	return true
}

// decoded returns the text of a string as written between its quotes.
func decoded(raw []byte) string {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	text, _ := wire.AppendString(nil, quoted)
	return string(text)
}
