package wire

import (
	"bytes"
	"slices"
	"sync"
)

// AppendCanonical appends the canonical form of the JSON value v: no white space, members
// sorted by name, no needless escapes, and canonical DynamoDB numbers ({"N":"1e3"},
// {"NS":[...]}). It returns false for text that parsers interpret differently (duplicate
// members, invalid Unicode) and for an invalid number in {"N":...}.
//
// Values with equal forms are equal to DynamoDB. Some equal values have different forms, for
// example JSON numbers and sets in another order.
func AppendCanonical(dst, v []byte) ([]byte, bool) { return appendCanonical(dst, v, false) }

// AppendCanonicalItem is AppendCanonical for an item, with the members of sets sorted: items
// that DynamoDB considers equal have the same form. It also returns false for a set with
// duplicate members.
func AppendCanonicalItem(dst, item []byte) ([]byte, bool) { return appendCanonical(dst, item, true) }

func appendCanonical(dst, v []byte, sortSets bool) ([]byte, bool) {
	c := canonPool.Get().(*canon)
	c.out, c.sortSets = dst, sortSets
	ok := c.value(v)
	out := c.out
	c.out, c.members, c.depth = nil, c.members[:0], 0
	canonPool.Put(c)
	if !ok {
		return dst, false
	}
	return out, true
}

var canonPool = sync.Pool{New: func() any { return new(canon) }}

// canon writes one value in canonical form. members holds the members of the open objects,
// innermost last.
type canon struct {
	out      []byte
	members  []member
	depth    int
	sortSets bool // v is an item
}

// member is the span of a member in out: the starts of its name and its value, and its end.
type member struct{ name, value, end int }

func (c *canon) value(v []byte) bool {
	switch Kind(v) {
	case '{', '[':
		if c.depth == MaxDepth {
			return false
		}
		c.depth++
		ok := c.nested(v)
		c.depth--
		return ok
	case '"':
		raw, ok := unquote(v)
		return ok && c.text(raw)
	case 0:
		return false
	}
	c.out = append(c.out, v...)
	return true
}

func (c *canon) nested(v []byte) bool {
	if v[0] == '{' {
		return c.object(v)
	}
	return c.array(v, (*canon).value)
}

// text writes a string given without quotes.
func (c *canon) text(raw []byte) bool {
	c.out = append(c.out, '"')
	if isPlain(raw) {
		c.out = append(c.out, raw...)
		c.out = append(c.out, '"')
		return true
	}
	for len(raw) > 0 {
		if n := skipPlain(raw, 0); n > 0 {
			if !isUnicode(raw[:n]) {
				return false
			}
			c.out, raw = append(c.out, raw[:n]...), raw[n:]
			continue
		}
		r, size, class := nextRune(raw)
		if class != exact {
			return false
		}
		if r < 0x20 || r == '"' || r == '\\' {
			c.out = appendEscape(c.out, byte(r))
		} else {
			c.out = appendRune(c.out, r)
		}
		raw = raw[size:]
	}
	c.out = append(c.out, '"')
	return true
}

func (c *canon) array(v []byte, element func(*canon, []byte) bool) bool {
	c.out = append(c.out, '[')
	first := len(c.out)
	it := Array(v)
	for it.Next() {
		if len(c.out) > first {
			c.out = append(c.out, ',')
		}
		if !element(c, it.Value()) {
			return false
		}
	}
	c.out = append(c.out, ']')
	return !it.Err()
}

// set writes a set of strings, of which element writes one.
func (c *canon) set(v []byte, element func(*canon, []byte) bool) bool {
	if !c.sortSets {
		return c.array(v, element)
	}
	c.out = append(c.out, '[')
	start, base := len(c.out), len(c.members)
	it := Array(v)
	for it.Next() {
		if len(c.out) > start {
			c.out = append(c.out, ',')
		}
		m := member{name: len(c.out)}
		if !element(c, it.Value()) {
			return false
		}
		m.value, m.end = len(c.out), len(c.out)
		c.members = append(c.members, m)
	}
	if it.Err() || !c.sort(start, c.members[base:]) {
		return false
	}
	c.members = c.members[:base]
	c.out = append(c.out, ']')
	return true
}

// number writes a number given as a JSON string.
func (c *canon) number(v []byte) bool {
	if Kind(v) != '"' {
		return false
	}
	c.out = append(c.out, '"')
	var ok bool
	c.out, ok = appendQuotedNumber(c.out, v)
	c.out = append(c.out, '"')
	return ok
}

func (c *canon) object(v []byte) bool {
	c.out = append(c.out, '{')
	start, base := len(c.out), len(c.members)
	sorted := true
	it := Object(v)
	for it.Next() {
		if len(c.out) > start {
			c.out = append(c.out, ',')
		}
		m := member{name: len(c.out)}
		if !c.text(it.Name()) {
			return false
		}
		m.value = len(c.out)
		c.out = append(c.out, ':')
		if !c.memberValue(c.out[m.name:m.value], it.Value()) {
			return false
		}
		m.end = len(c.out)
		if n := len(c.members); n > base {
			sorted = sorted && c.compare(c.members[n-1], m) < 0
		}
		c.members = append(c.members, m)
	}
	if it.Err() || !sorted && !c.sort(start, c.members[base:]) {
		return false
	}
	c.members = c.members[:base]
	c.out = append(c.out, '}')
	return true
}

// memberValue writes the value of the member with the given quoted name. The string of "N"
// is a number. An attribute of a map can also be called N, but its value is an object.
func (c *canon) memberValue(name, v []byte) bool {
	switch {
	case string(name) == `"N"` && Kind(v) == '"':
		return c.number(v)
	case string(name) == `"NS"` && Kind(v) == '[':
		return c.set(v, (*canon).number)
	case (string(name) == `"SS"` || string(name) == `"BS"`) && Kind(v) == '[':
		return c.set(v, (*canon).value)
	}
	return c.value(v)
}

func (c *canon) compare(a, b member) int {
	return bytes.Compare(c.out[a.name:a.value], c.out[b.name:b.value])
}

// sort sorts the members of an object or a set, out[start:], by name. It returns false if two
// have the same name. The whole of a set's member is its name.
func (c *canon) sort(start int, members []member) bool {
	slices.SortFunc(members, c.compare)
	size := len(c.out) - start
	for i, m := range members {
		if i > 0 {
			if c.compare(members[i-1], m) == 0 {
				return false
			}
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, c.out[m.name:m.end]...)
	}
	copy(c.out[start:], c.out[start+size:])
	c.out = c.out[:start+size]
	return true
}
