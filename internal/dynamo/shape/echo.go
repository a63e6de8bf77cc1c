package shape

import (
	"strconv"
	"unicode/utf8"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// maxEcho bounds how much of a request a message repeats.
const maxEcho = 256 << 10

// echo formats a value as the service does in its messages, which is Java's form: [a, b],
// {k=v}, Class(member=value, other=null).
func echo(v []byte, s *shape) string {
	var e echoer
	if s.echoJSON {
		e.compact(v)
	} else {
		e.value(v, s)
	}
	if len(e.out) > maxEcho {
		e.out = e.out[:maxEcho]
		for len(e.out) > 0 && !utf8.Valid(e.out[len(e.out)-min(utf8.UTFMax, len(e.out)):]) {
			e.out = e.out[:len(e.out)-1]
		}
	}
	return string(e.out)
}

type echoer struct{ out []byte }

// full reports whether the rest of the output would be cut off.
func (e *echoer) full() bool { return len(e.out) > maxEcho }

func (e *echoer) value(v []byte, s *shape) {
	if len(v) == 0 || v[0] == 'n' {
		e.out = append(e.out, "null"...)
		return
	}
	switch s.kind {
	case stringKind:
		e.out, _ = wire.AppendString(e.out, v)
	case booleanKind:
		e.boolean(v)
	case integerKind, longKind:
		e.out = strconv.AppendInt(e.out, Integer(v), 10)
	case blobKind:
		e.blob(v)
	case listKind:
		e.list(v, s)
	case mapKind:
		e.dictionary(v, s)
	case attributeKind:
		e.attribute(v)
	default:
		e.structure(v, s)
	}
}

func (e *echoer) boolean(v []byte) {
	if raw, ok := wire.Plain(v); ok {
		b, _ := parseBool(raw)
		e.out = strconv.AppendBool(e.out, b)
		return
	}
	e.out = append(e.out, v...)
}

func (e *echoer) blob(v []byte) {
	bytes, _ := wire.AppendBinary(nil, v)
	n := strconv.Itoa(len(bytes))
	e.out = append(e.out, "java.nio.HeapByteBuffer[pos=0 lim="+n+" cap="+n+"]"...)
}

func (e *echoer) list(v []byte, s *shape) {
	e.out = append(e.out, '[')
	n := 0
	for it := wire.Array(v); it.Next() && !e.full(); n++ {
		e.comma(n)
		e.value(it.Value(), s.elem)
	}
	e.out = append(e.out, ']')
}

func (e *echoer) comma(n int) {
	if n > 0 {
		e.out = append(e.out, ", "...)
	}
}

func (e *echoer) dictionary(v []byte, s *shape) {
	e.out = append(e.out, '{')
	n := 0
	for it := wire.Object(v); it.Next() && !e.full(); n++ {
		e.comma(n)
		e.out = append(append(e.out, decoded(it.Name())...), '=')
		e.value(it.Value(), s.elem)
	}
	e.out = append(e.out, '}')
}

func (e *echoer) structure(v []byte, s *shape) {
	e.out = append(append(e.out, s.class...), '(')
	for i, m := range s.members(v) {
		e.comma(i)
		e.out = append(append(e.out, s.fields[i].label()...), '=')
		e.value(m, s.fields[i].shape)
	}
	for _, name := range s.hidden {
		e.out = append(append(e.out, ", "+name...), "=null"...)
	}
	e.out = append(e.out, ')')
}

// attributeMembers are the members of an attribute value inside the service; name is "" for
// members that are not part of the API.
var attributeMembers = []struct{ label, name string }{
	{"s", "S"}, {"n", "N"}, {"b", "B"}, {"iNT", ""}, {"dECIMAL", ""}, {"dOUBLE", ""}, {"sS", "SS"}, {"nS", "NS"}, {"bS", "BS"},
	{"iNTSET", ""}, {"dECIMALSET", ""}, {"dOUBLESET", ""}, {"m", "M"}, {"l", "L"}, {"nULL", "NULL"}, {"bOOL", "BOOL"},
}

func (e *echoer) attribute(v []byte) {
	e.out = append(e.out, "AttributeValue("...)
	for i, m := range attributeMembers {
		e.comma(i)
		e.out = append(append(e.out, m.label...), '=')
		var inner []byte
		if m.name != "" { // a request may have it too
			inner, _ = wire.Lookup(v, m.name)
		}
		e.value(inner, attributeMember([]byte(m.name)))
	}
	e.out = append(e.out, ')')
}

// compact appends JSON without the space between its tokens.
func (e *echoer) compact(v []byte) {
	for i := 0; i < len(v) && !e.full(); i++ {
		switch v[i] {
		case ' ', '\t', '\n', '\r':
		case '"':
			_, next, _ := wire.ReadString(v, i)
			e.out = append(e.out, v[i:next]...)
			i = next - 1
		default:
			e.out = append(e.out, v[i])
		}
	}
}
