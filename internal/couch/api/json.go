package api

import (
	"bytes"
	"encoding/json"
)

// Members iterates over the members of an object in place. The object must be valid JSON.
type Members struct {
	rest []byte // after the opening brace, then after each value
	name []byte // in quotes
	// Value is the member's value as JSON.
	Value []byte
}

// MembersOf returns an iterator before the first member of an object.
func MembersOf(object []byte) Members { return Members{rest: skipSpace(object)[1:]} }

// Next moves to the next member, and reports whether there is one.
func (f *Members) Next() bool {
	f.rest = skipSpace(f.rest)
	if f.rest[0] == ',' {
		f.rest = skipSpace(f.rest[1:])
	}
	if f.rest[0] == '}' {
		return false
	}
	f.name, f.rest = cutValue(f.rest)
	f.rest = skipSpace(f.rest)[1:] // the colon
	f.Value, f.rest = cutValue(skipSpace(f.rest))
	return true
}

// Is reports whether the member has that name, which must not need escapes.
func (f *Members) Is(name string) bool {
	if len(f.name) == len(name)+2 {
		return string(f.name[1:len(f.name)-1]) == name
	}
	if len(f.name) < len(name)+2 || len(f.name) > 6*len(name)+2 {
		return false
	}
	var scratch []byte
	return string(unquote(f.name, &scratch)) == name
}

// Text returns the member's text unescaped, or nil if it is not a string. It uses scratch if
// there are escapes.
func (f *Members) Text(scratch *[]byte) []byte {
	if f.Value[0] != '"' {
		return nil
	}
	return unquote(f.Value, scratch)
}

// Elements iterates over the elements of an array in place. The array must be valid JSON.
type Elements struct {
	rest  []byte
	Value []byte // the element as JSON
}

// ElementsOf returns an iterator before the first element of an array.
func ElementsOf(array []byte) Elements { return Elements{rest: skipSpace(array)[1:]} }

// Next moves to the next element, and reports whether there is one.
func (e *Elements) Next() bool {
	e.rest = skipSpace(e.rest)
	if e.rest[0] == ',' {
		e.rest = skipSpace(e.rest[1:])
	}
	if e.rest[0] == ']' {
		return false
	}
	e.Value, e.rest = cutValue(e.rest)
	return true
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// cutValue returns the JSON value at the beginning of b, and the rest.
func cutValue(b []byte) (value, rest []byte) {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += len(quoted(b[i:])) - 1
		case '{', '[':
			depth++
		case '}', ']', ',', ':', ' ', '\t', '\r', '\n':
			if closes := b[i] == '}' || b[i] == ']'; closes && depth > 0 {
				depth--
			} else if depth > 0 {
				continue
			} else { // after a number or a literal
				return b[:i], b[i:]
			}
		default:
			continue
		}
		if depth == 0 {
			return b[:i+1], b[i+1:]
		}
	}
	return b, nil
}

// quoted returns the quoted string at the beginning of b.
func quoted(b []byte) []byte {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1]
		}
	}
	return b
}

// unquote returns the content of a quoted string. It uses scratch if there are escapes.
func unquote(text []byte, scratch *[]byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var s string
	_ = json.Unmarshal(text, &s) // it is valid
	*scratch = append((*scratch)[:0], s...)
	return *scratch
}
