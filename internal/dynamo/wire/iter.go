package wire

import "bytes"

// Iter iterates over the members of an object or the elements of an array:
//
//	for it := wire.Object(b); it.Next(); {
//		use(it.Name(), it.Value())
//	}
//
// It is a value, and its slices alias the text.
type Iter struct {
	b                  []byte
	pos                int
	nameStart, nameEnd int
	start, end         int
	object, more, bad  bool
}

// Object iterates over the members of the object b.
func Object(b []byte) Iter {
	it := Iter{b: b, pos: skipSpace(b, 0), object: true}
	it.open('{')
	return it
}

// Array iterates over the elements of the array b. Name is then empty.
func Array(b []byte) Iter {
	it := Iter{b: b, pos: skipSpace(b, 0)}
	it.open('[')
	return it
}

func (it *Iter) open(c byte) {
	it.bad = it.pos >= len(it.b) || it.b[it.pos] != c
	it.pos++
}

// Count returns the number of members or elements from the next one on.
func (it Iter) Count() (n int) {
	for it.Next() {
		n++
	}
	return n
}

// Next advances to the next member or element. It returns false after the last.
func (it *Iter) Next() bool {
	if it.bad {
		return false
	}
	b, i := it.b, skipSpace(it.b, it.pos)
	if i >= len(b) {
		return it.fail()
	}
	if c := b[i]; c == '}' || c == ']' {
		it.bad = it.object != (c == '}')
		it.pos = i
		return false
	}
	if it.more {
		if b[i] != ',' {
			return it.fail()
		}
		i = skipSpace(b, i+1)
	}
	it.more = true
	if it.object {
		if i >= len(b) || b[i] != '"' {
			return it.fail()
		}
		it.nameStart = i + 1
		if i = scanString(b, i+1); i < 0 {
			return it.fail()
		}
		it.nameEnd = i - 1
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return it.fail()
		}
		i = skipSpace(b, i+1)
	}
	it.start = i
	if i = skipValue(b, i); i < 0 {
		return it.fail()
	}
	it.end, it.pos = i, i
	return true
}

func (it *Iter) fail() bool {
	it.bad = true
	return false
}

// Name returns the member's name as written, without quotes.
func (it *Iter) Name() []byte { return it.b[it.nameStart:it.nameEnd] }

// QuotedName returns the member's name as written, with quotes.
func (it *Iter) QuotedName() []byte { return it.b[it.nameStart-1 : it.nameEnd+1] }

// Value returns the text of the value, without surrounding white space.
func (it *Iter) Value() []byte { return it.b[it.start:it.end] }

// Start returns the offset of the value in the text.
func (it *Iter) Start() int { return it.start }

// End returns the offset of the end of the value in the text.
func (it *Iter) End() int { return it.end }

// Err reports whether the text turned out not to be an object (or an array). It is valid
// after Next has returned false.
func (it *Iter) Err() bool { return it.bad }

// skipValue returns the index after the value at i of valid text, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return scanString(b, i+1)
	case '{', '[':
		return skipNested(b, i)
	}
	first := i
	for i < len(b) && !endsScalar[b[i]] {
		i++
	}
	if i == first {
		return -1
	}
	return i
}

var endsScalar = [256]bool{',': true, ']': true, '}': true, ':': true, '"': true, '{': true, '[': true,
	' ': true, '\n': true, '\t': true, '\r': true}

// skipNested returns the index after the object or array at i, or -1.
func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = scanString(b, i+1); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// NameIs reports whether a member's name as written equals want. An escaped spelling
// ("Table\u004eame") is the same name.
func NameIs(raw []byte, want string) bool {
	if len(raw) < len(want) {
		return false // escapes only make a name longer
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == want
	}
	return escapedIs(raw, want)
}

// escapedIs compares without copying. A name that isn't exact Unicode equals nothing.
func escapedIs(raw []byte, want string) bool {
	var buf [4]byte
	for len(raw) > 0 {
		r, size, class := nextRune(raw)
		if class != exact {
			return false
		}
		enc := appendRune(buf[:0], r)
		if len(want) < len(enc) || want[:len(enc)] != string(enc) {
			return false
		}
		raw, want = raw[size:], want[len(enc):]
	}
	return want == ""
}

// Collect reads members of the object obj: it sets out[i] to the value of the member called
// names[i], or to nil if the member is absent or null, which DynamoDB treats alike. It
// returns false if obj isn't an object or if one of the names occurs twice in any spelling,
// because parsers differ in which of the two they use.
func Collect(obj []byte, names []string, out [][]byte) bool {
	out = out[:len(names)]
	clear(out)
	nulls := uint64(0)
	it := Object(obj)
	for it.Next() {
		i := indexName(it.Name(), names)
		if i < 0 {
			continue
		}
		bit := uint64(1) << (uint(i) & 63)
		if out[i] != nil || nulls&bit != 0 {
			return false
		}
		if v := it.Value(); v[0] != 'n' {
			out[i] = v
		} else {
			nulls |= bit
		}
	}
	return !it.Err()
}

func indexName(raw []byte, names []string) int {
	for i, name := range names {
		if len(raw) == len(name) && string(raw) == name {
			return i
		}
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return -1
	}
	for i, name := range names {
		if escapedIs(raw, name) {
			return i
		}
	}
	return -1
}

// Lookup returns the value of the object's member called name, null included. It returns
// false if there is no such member or more than one.
func Lookup(obj []byte, name string) (value []byte, ok bool) {
	it := Object(obj)
	for it.Next() {
		if NameIs(it.Name(), name) {
			if ok {
				return nil, false
			}
			value, ok = it.Value(), true
		}
	}
	return value, ok && !it.Err()
}

// Kind classifies the value v by its first byte: '{', '[', '"', 't', 'f', 'n', '0' for any
// number, 0 for anything else.
func Kind(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	switch c := v[0]; c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}
