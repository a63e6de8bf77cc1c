package shape

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxFaults is the maximum number of broken constraints in one message.
const maxFaults = 10

// fault is a constraint that a request breaks.
type fault struct {
	at         path
	value      string // empty if missing
	missing    bool
	constraint string
	shortForm  bool // see field
	generic    bool // reported without the member's name and value
	ofMap      bool // reported for a whole map, about its keys or values
}

// path is the position of a value in a request.
type path struct{ labels, names string }

func (p path) member(f *field) path {
	if p.labels == "" {
		return path{f.label(), f.name}
	}
	return path{p.labels + "." + f.label(), p.names + "." + f.name}
}

// inside returns the path of an element, by its position, or of a map's value.
func (p path) inside(key string) path {
	return path{p.labels + "." + key + ".member", p.names + "." + key + ".member"}
}

// sentence formats the fault in the classic form, which most of the service's answers have.
func (f *fault) sentence() string {
	if f.generic {
		return "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]" // sic
	}
	value := "null"
	if !f.missing {
		value = "'" + f.value + "'"
	}
	return "Value " + value + " at '" + f.at.labels + "' failed to satisfy constraint: " + f.constraint
}

// shortSentence formats the fault without the value.
func (f *fault) shortSentence() string {
	return "Value at '" + f.at.names + "' failed to satisfy constraint: " + f.constraint
}

// refuse returns the error for one or more faults.
func refuse(faults ...fault) *wire.Error {
	if len(faults) == 1 {
		if f := &faults[0]; f.shortForm && !f.missing {
			return detected("1 validation error", f.shortSentence())
		}
		return detected("1 validation error", faults[0].sentence())
	}
	sentences := make([]string, len(faults))
	for i := range faults {
		sentences[i] = faults[i].sentence()
	}
	return detected(strconv.Itoa(len(faults))+" validation errors", strings.Join(sentences, "; "))
}

func detected(count, what string) *wire.Error {
	return wire.Invalid("%s detected: %s", count, what)
}

// faults lists the constraints that a body of the right types breaks, in the order in which
// the service reports them.
func (s *shape) faults(body []byte) []fault {
	var c collector
	c.structure(body, s, path{})
	return c.list
}

type collector struct{ list []fault }

func (c *collector) add(f fault) {
	if len(c.list) < maxFaults {
		c.list = append(c.list, f)
	}
}

func (c *collector) full() bool { return len(c.list) == maxFaults }

// members returns the values of a structure's fields, nil for a member that is missing or
// null. Of several members with one name the last counts.
func (s *shape) members(text []byte) [][]byte {
	values := make([][]byte, len(s.fields))
	for it := wire.Object(text); it.Next(); {
		if i := s.findField([]byte(decoded(it.Name()))); i >= 0 {
			values[i] = nonNull(it.Value())
		}
	}
	return values
}

func nonNull(v []byte) []byte {
	if v[0] == 'n' {
		return nil
	}
	return v
}

func (c *collector) structure(text []byte, s *shape, at path) {
	for i, v := range s.members(text) {
		f := &s.fields[i]
		switch {
		case c.full():
			return
		case v != nil:
			c.value(v, f.shape, at.member(f), f.shortForm)
		case f.required:
			c.add(fault{at: at.member(f), missing: true, constraint: memberNotNull})
		}
	}
}

func (c *collector) value(v []byte, s *shape, at path, mute bool) {
	switch s.kind {
	case stringKind:
		text := decodedString(v)
		for _, constraint := range s.textFaults(text) {
			c.add(fault{at: at, value: text, constraint: constraint, shortForm: mute})
		}
	case integerKind, longKind:
		n := Integer(v)
		for _, constraint := range s.bounds("value", n) {
			c.add(fault{at: at, value: strconv.FormatInt(n, 10), constraint: constraint, shortForm: mute})
		}
	case listKind:
		c.elements(v, s, at, mute)
	case mapKind:
		c.entries(v, s, at)
	case structKind:
		c.structure(v, s, at)
	}
}

// elements checks a list, then its elements.
func (c *collector) elements(v []byte, s *shape, at path, mute bool) {
	for _, constraint := range s.bounds("length", count(wire.Array(v))) {
		c.add(fault{at: at, value: echo(v, s), constraint: constraint, shortForm: mute})
	}
	c.each(v, s, at)
}

func (c *collector) each(v []byte, s *shape, at path) {
	n := 0
	for it := wire.Array(v); it.Next() && !c.full(); {
		n++
		c.inside(it.Value(), s.elem, at.inside(strconv.Itoa(n)))
	}
}

// inside checks an element of a list or a value of a map.
func (c *collector) inside(v []byte, s *shape, at path) {
	switch {
	case nonNull(v) != nil:
		c.value(v, s, at, false)
	case s.isContainer():
		c.add(fault{at: at, missing: true, constraint: memberNotNull})
	}
}

// entries checks a map, its keys, and its values.
func (c *collector) entries(v []byte, s *shape, at path) {
	for _, constraint := range s.bounds("length", count(wire.Object(v))) {
		c.add(fault{at: at, value: echo(v, s), constraint: constraint})
	}
	if s.anyKey(v) {
		c.add(fault{at: at, value: echo(v, s), ofMap: true,
			constraint: "Map keys must satisfy constraint: [" + strings.Join(s.names.constraints(), ", ") + "]"})
	}
	if s.anyLength(v) {
		c.add(fault{at: at, value: echo(v, s), ofMap: true,
			constraint: "Map value must satisfy constraint: [" + strings.Join(s.elem.constraints(), ", ") + "]"})
	}
	for it := wire.Object(v); it.Next() && !c.full(); {
		inner := at.inside(decoded(it.Name()))
		if s.values && nonNull(it.Value()) != nil {
			c.each(it.Value(), s.elem, inner)
		} else {
			c.inside(it.Value(), s.elem, inner)
		}
	}
}

func count(it wire.Iter) (n int64) {
	for it.Next() {
		n++
	}
	return n
}

// anyKey reports whether a key of the map breaks the constraints on names.
func (s *shape) anyKey(v []byte) bool {
	if s.names == nil {
		return false
	}
	for it := wire.Object(v); it.Next(); {
		if len(s.names.textFaults(decoded(it.Name()))) > 0 {
			return true
		}
	}
	return false
}

// anyLength reports whether a value breaks bounds that are reported for the map.
func (s *shape) anyLength(v []byte) bool {
	if !s.values {
		return false
	}
	for it := wire.Object(v); it.Next(); {
		if nonNull(it.Value()) != nil && len(s.elem.bounds("length", count(wire.Array(it.Value())))) > 0 {
			return true
		}
	}
	return false
}

// bounds lists the bounds that n breaks; what names the counted thing.
func (s *shape) bounds(what string, n int64) []string {
	switch {
	case n < s.min:
		return []string{atLeast(what, s.min)}
	case n > s.max:
		return []string{atMost(what, s.max)}
	}
	return nil
}

func atLeast(what string, n int64) string {
	return "Member must have " + what + " greater than or equal to " + strconv.FormatInt(n, 10)
}

func atMost(what string, n int64) string {
	return "Member must have " + what + " less than or equal to " + strconv.FormatInt(n, 10)
}

const memberNotNull = "Member must not be null"

const matchesName = "Member must satisfy regular expression pattern: " + nameClass

// constraints lists all constraints on a string or list, in the form used for a map.
func (s *shape) constraints() []string {
	list := []string{atMost("length", s.max), atLeast("length", s.min)}
	if s.name {
		list = append(list, matchesName)
	}
	return list
}

// textFaults lists the constraints that a string breaks.
func (s *shape) textFaults(text string) (list []string) {
	if s.table && strings.HasPrefix(text, "arn:") {
		if _, ok := TableName(text); ok {
			return nil
		}
	}
	if s.enum != nil && !slices.Contains(s.enum, text) {
		list = append(list, "Member must satisfy enum value set: ["+strings.Join(s.enum, ", ")+"]")
	}
	// For the name of a table with items, an empty string is too short and breaks no other
	// constraint.
	if s.name && !isName(text) && (text != "" || s.min > 1) {
		list = append(list, matchesName)
	}
	return append(list, s.bounds("length", javaLength(text))...)
}

// javaLength returns the length of a string as the service counts it, in UTF-16 code units.
func javaLength(text string) (n int64) {
	for _, r := range text {
		n += int64(utf16.RuneLen(r))
	}
	return n
}

func decodedString(quoted []byte) string {
	text, _ := wire.AppendString(nil, quoted)
	return string(text)
}
