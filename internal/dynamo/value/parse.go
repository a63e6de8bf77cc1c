package value

import (
	"bytes"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

const (
	// maxLevels is how deep documents nest: an attribute's value is at level 1.
	maxLevels = 32
	// maxName is the length of the longest attribute name.
	maxName = 65535
)

// Parse reads an attribute value and checks it as the service does; the error
// is a *wire.Error. The value shares nothing with text.
func Parse(text []byte) (Value, error) {
	return decode(bytes.Clone(text), true, (*decoder).lone)
}

// ParseItem reads an object of attribute values, such as an Item or a Key, and
// checks it as the service does. The value shares nothing with text.
func ParseItem(text []byte) (Value, error) {
	return decode(bytes.Clone(text), true, (*decoder).item)
}

// Stored reads what AppendItem wrote, with nothing checked but that it is JSON
// of that shape. The value may alias text, which must not change any more.
func Stored(text []byte) (Value, error) {
	return decode(text, false, (*decoder).item)
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func decode(text []byte, strict bool, read func(*decoder, *Value) error) (v Value, err error) {
	d := decoders.Get().(*decoder)
	d.text, d.strict = text, strict
	err = read(d, &v)
	if err == nil && wire.SkipSpace(text, d.pos) != len(text) {
		err = errSyntax
	}
	clear(d.items[:cap(d.items)])
	clear(d.members[:cap(d.members)])
	*d = decoder{items: d.items[:0], members: d.members[:0]}
	decoders.Put(d)
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// decoder reads one text from its beginning to its end. items and members hold
// what was read of the lists and maps that are open, innermost last; a closed
// one takes its part of them away with it.
type decoder struct {
	text    []byte
	pos     int
	strict  bool
	arena   []byte // the end of it is free for text that differs from its spelling
	items   []Value
	members []Member
}

// peek returns the next byte that is no white space, 0 at the end.
func (d *decoder) peek() byte {
	if d.pos = wire.SkipSpace(d.text, d.pos); d.pos < len(d.text) {
		return d.text[d.pos]
	}
	return 0
}

// take steps over c if it is next.
func (d *decoder) take(c byte) bool {
	if d.peek() != c {
		return false
	}
	d.pos++
	return true
}

// next goes to the next element of a list or member of an object of which n
// have been read; more is false behind the last.
func (d *decoder) next(n int, closing byte) (more bool, err error) {
	if d.take(closing) {
		return false, nil
	}
	if n > 0 && !d.take(',') {
		return false, errSyntax
	}
	return true, nil
}

// name reads a member's name and its colon.
func (d *decoder) name() (text []byte, err error) {
	d.peek()
	if text, err = d.str(); err != nil {
		return nil, err
	}
	if !d.take(':') {
		return nil, errSyntax
	}
	return text, nil
}

// str reads the string that is next, as UTF-8.
func (d *decoder) str() ([]byte, error) {
	raw, next, escaped := wire.ReadString(d.text, d.pos)
	if next < 0 {
		return nil, errSyntax
	}
	quoted := d.text[d.pos:next]
	d.pos = next
	if !escaped && (!d.strict || utf8.Valid(raw)) {
		return raw, nil
	}
	first := d.reserve(len(raw))
	out, ok := wire.AppendString(d.arena, quoted)
	if !ok {
		return nil, errSyntax
	}
	d.arena = out
	return out[first:len(out):len(out)], nil
}

// reserve makes room for n bytes in the arena and returns where they begin. The
// first room is for all that is left of the text, within reason.
func (d *decoder) reserve(n int) int {
	if cap(d.arena)-len(d.arena) < n {
		d.arena = make([]byte, 0, max(n, min(len(d.text)-d.pos+n, 4096)))
	}
	return len(d.arena)
}

// literal steps over word if it is next.
func (d *decoder) literal(word string) bool {
	rest := d.text[d.pos:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return false
	}
	d.pos += len(word)
	return true
}

// skip steps over any value.
func (d *decoder) skip() error {
	end := wire.SkipValue(d.text, wire.SkipSpace(d.text, d.pos))
	if end < 0 {
		return errSyntax
	}
	d.pos = end
	return nil
}

func (d *decoder) lone(v *Value) error { return d.value(v, 1) }

// item reads an object of attribute values.
func (d *decoder) item(v *Value) error {
	v.Type = Map
	return d.object(v, 1)
}

// value reads an attribute value at a level.
func (d *decoder) value(v *Value, level int) error {
	if level > maxLevels {
		return errNesting
	}
	if !d.take('{') {
		return d.misfit(attributeValue)
	}
	types := 0
	for n := 0; ; n++ {
		more, err := d.next(n, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		typ := typeOf(name)
		if typ == 0 {
			err = d.skip()
		} else if d.peek() != 'n' {
			types |= 1 << typ
			err = d.typed(v, typ, level)
		} else if !d.literal("null") {
			err = errSyntax
		}
		if err != nil {
			return err
		}
	}
	switch {
	case types == 0:
		return errNoType
	case types&(types-1) != 0:
		return errTypes
	}
	return nil
}

// typed reads what an attribute value has under the name of a type.
func (d *decoder) typed(v *Value, typ Type, level int) error {
	*v = Value{Type: typ}
	switch typ {
	case Bool, Null:
		return d.boolean(v)
	case StringSet, NumberSet, BinarySet:
		return d.set(v)
	case List:
		return d.list(v, level+1)
	case Map:
		return d.object(v, level+1)
	}
	return d.scalar(v)
}

// boolean reads the content of a Bool or Null. The service takes words for it.
func (d *decoder) boolean(v *Value) error {
	switch {
	case d.literal("true"):
		v.Bool = true
	case d.literal("false"):
	case d.peek() == '"':
		word, err := d.str()
		if err != nil {
			return err
		}
		var ok bool
		if v.Bool, ok = truth(word); !ok {
			return serialization("Unexpected token received from parser")
		}
	default:
		return d.misfit(kindBoolean)
	}
	if v.Type == Null {
		if !v.Bool {
			return errNull
		}
		v.Bool = false
	}
	return nil
}

func truth(word []byte) (value, ok bool) {
	switch string(bytes.ToLower(word)) {
	case "true", "1", "yes":
		return true, true
	case "false", "0", "no":
		return false, true
	}
	return false, false
}

// scalar reads the content of a String, Number or Binary.
func (d *decoder) scalar(v *Value) error {
	if d.peek() != '"' {
		if v.Type == Binary {
			return d.misfit(kindBlob)
		}
		return d.misfit(kindString)
	}
	text, err := d.str()
	if err != nil {
		return err
	}
	switch v.Type {
	case Number:
		v.Text, err = d.number(text)
	case Binary:
		v.Text, err = d.binary(text)
	default:
		v.Text = text
	}
	return err
}

// number returns the normal text of a number.
func (d *decoder) number(text []byte) ([]byte, error) {
	if !d.strict {
		return text, nil
	}
	var n wire.Number
	if fault := n.Parse(text); fault != wire.NumberFine {
		return nil, wire.Invalid("%s", fault.Message(text))
	}
	var buf [256]byte
	normal := n.Append(buf[:0])
	if bytes.Equal(normal, text) {
		return text, nil
	}
	first := d.reserve(len(normal))
	d.arena = append(d.arena, normal...)
	return d.arena[first:len(d.arena):len(d.arena)], nil
}

// binary returns the bytes that text encodes.
func (d *decoder) binary(text []byte) ([]byte, error) {
	first := d.reserve(len(text))
	out, ok := wire.AppendDecoded(d.arena, text)
	if !ok {
		return nil, serialization(wire.BinaryFault(text))
	}
	d.arena = out
	return out[first:len(out):len(out)], nil
}

// set reads the content of a set.
func (d *decoder) set(v *Value) error {
	if !d.take('[') {
		return d.misfit(kindList)
	}
	base := len(d.items)
	element := Value{Type: v.Type.Element()}
	for n := 0; ; n++ {
		more, err := d.next(n, ']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := d.scalar(&element); err != nil {
			return err
		}
		d.items = append(d.items, element)
	}
	v.Items = d.closeList(base)
	if d.strict {
		return checkSet(v)
	}
	return nil
}

// list reads the content of a List whose elements are at a level.
func (d *decoder) list(v *Value, level int) error {
	if !d.take('[') {
		return d.misfit(kindList)
	}
	base := len(d.items)
	for n := 0; ; n++ {
		more, err := d.next(n, ']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		var element Value
		if err := d.value(&element, level); err != nil {
			return err
		}
		d.items = append(d.items, element)
	}
	v.Items = d.closeList(base)
	return nil
}

func (d *decoder) closeList(base int) []Value {
	if len(d.items) == base {
		return nil
	}
	out := make([]Value, len(d.items)-base)
	copy(out, d.items[base:])
	d.items = d.items[:base]
	return out
}

// object reads the content of a Map whose values are at a level.
func (d *decoder) object(v *Value, level int) error {
	if !d.take('{') {
		return d.misfit(kindMap)
	}
	base := len(d.members)
	for n := 0; ; n++ {
		more, err := d.next(n, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		name, err := d.name()
		if err != nil {
			return err
		}
		if err := checkName(name); err != nil {
			return err
		}
		m := Member{Name: unsafe.String(unsafe.SliceData(name), len(name))}
		if err := d.value(&m.Value, level); err != nil {
			return err
		}
		d.members = append(d.members, m)
	}
	if d.strict {
		d.members = d.members[:base+unite(d.members[base:])]
	}
	if len(d.members) > base {
		v.Members = make([]Member, len(d.members)-base)
		copy(v.Members, d.members[base:])
		d.members = d.members[:base]
	}
	return nil
}

// unite lets the last of members with one name take the place of the first, as
// whoever reads the object into a map does, and returns how many are left.
func unite(members []Member) int {
	if len(members) <= fewMembers {
		return uniteFew(members)
	}
	at := make(map[string]int, len(members))
	n := 0
	for _, m := range members {
		if i, ok := at[m.Name]; ok {
			members[i] = m
			continue
		}
		at[m.Name] = n
		members[n] = m
		n++
	}
	return n
}

func uniteFew(members []Member) int {
	n := 0
next:
	for _, m := range members {
		for i := range members[:n] {
			if members[i].Name == m.Name {
				members[i] = m
				continue next
			}
		}
		members[n] = m
		n++
	}
	return n
}
