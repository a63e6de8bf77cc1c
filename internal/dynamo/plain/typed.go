package plain

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// converter converts items between plain JSON and attribute values, text to text. Numbers
// keep their digits: they are never converted to floats.
//
// Its input must be valid JSON. Its functions take the index of a value and return the index
// after it, or -1 for a value that can't be converted.
type converter struct {
	lists    bool     // see Config.Lists
	members  []member // of the set being written
	text     []byte   // text that members are compared by
	seen     map[string]bool
	tooLarge bool // the converted text exceeds the size of any request
}

// at returns the byte at i, or 0 after the end.
func at(b []byte, i int) byte {
	if uint(i) < uint(len(b)) {
		return b[i]
	}
	return 0
}

// typedObject appends the object at i with each value as an attribute value.
func (c *converter) typedObject(dst, b []byte, i int) ([]byte, int) {
	return c.object(dst, b, i, (*converter).typed)
}

// typed appends the plain value at i as an attribute value.
func (c *converter) typed(dst, b []byte, i int) ([]byte, int) {
	if len(dst) > maxBody {
		c.tooLarge = true
		return dst, -1
	}
	switch at(b, i) {
	case '{':
		dst = append(dst, `{"M":`...)
		dst, i = c.typedObject(dst, b, i)
	case '[':
		return c.typedArray(dst, b, i)
	case '"':
		dst = append(dst, `{"S":`...)
		dst, i = verbatim(dst, b, i)
	case 't', 'f':
		dst = append(dst, `{"BOOL":`...)
		dst, i = verbatim(dst, b, i)
	case 'n':
		return append(dst, `{"NULL":true}`...), wire.SkipValue(b, i)
	default:
		dst = append(dst, `{"N":"`...)
		dst, i = verbatim(dst, b, i)
		dst = append(dst, '"')
	}
	return append(dst, '}'), i
}

// typedArray appends the array at i as a set if it holds scalars of one type, otherwise as a
// list.
func (c *converter) typedArray(dst, b []byte, i int) ([]byte, int) {
	kind := byte(0)
	if !c.lists {
		kind = scalars(b, i)
	}
	switch kind {
	case '0':
		dst = append(dst, `{"NS":`...)
		dst, i = c.typedSet(dst, b, i, true)
	case '"':
		dst = append(dst, `{"SS":`...)
		dst, i = c.typedSet(dst, b, i, false)
	default:
		dst = append(dst, `{"L":`...)
		dst, i = c.array(dst, b, i, (*converter).typed)
	}
	return append(dst, '}'), i
}

// scalars returns the common kind of the elements of the array at i: '0' for only numbers,
// '"' for only strings, 0 for others and for an empty array.
func scalars(b []byte, i int) (kind byte) {
	for i = wire.SkipSpace(b, i+1); at(b, i) != ']'; i = wire.SkipSpace(b, i) {
		if at(b, i) == ',' {
			i = wire.SkipSpace(b, i+1)
		}
		k := wire.Kind(b[min(i, len(b)):])
		if kind == 0 {
			kind = k
		}
		if k != kind || k != '0' && k != '"' {
			return 0
		}
		if i = wire.SkipValue(b, i); i < 0 {
			return 0
		}
	}
	return kind
}

// translate appends a value in the other form.
type translate func(c *converter, dst, b []byte, i int) ([]byte, int)

// object appends the object at i with its values converted.
func (c *converter) object(dst, b []byte, i int, value translate) ([]byte, int) {
	if at(b, i) != '{' {
		return dst, -1
	}
	dst = append(dst, '{')
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != '}' {
		if at(b, i) == ',' {
			dst = append(dst, ',')
			i = wire.SkipSpace(b, i+1)
		}
		_, next, _ := wire.ReadString(b, i)
		if next < 0 {
			return dst, -1
		}
		dst = append(dst, b[i:next]...)
		dst = append(dst, ':')
		if i = wire.SkipSpace(b, next); at(b, i) != ':' {
			return dst, -1
		}
		if dst, i = value(c, dst, b, wire.SkipSpace(b, i+1)); i < 0 {
			return dst, -1
		}
		i = wire.SkipSpace(b, i)
	}
	return append(dst, '}'), i + 1
}

// array appends the array at i with its elements converted.
func (c *converter) array(dst, b []byte, i int, value translate) ([]byte, int) {
	if at(b, i) != '[' {
		return dst, -1
	}
	dst = append(dst, '[')
	i = wire.SkipSpace(b, i+1)
	for at(b, i) != ']' {
		if at(b, i) == ',' {
			dst = append(dst, ',')
			i = wire.SkipSpace(b, i+1)
		}
		if dst, i = value(c, dst, b, i); i < 0 {
			return dst, -1
		}
		i = wire.SkipSpace(b, i)
	}
	return append(dst, ']'), i + 1
}

// verbatim appends the value at i unchanged.
func verbatim(dst, b []byte, i int) ([]byte, int) {
	next := wire.SkipValue(b, i)
	if next < 0 {
		return dst, -1
	}
	return append(dst, b[i:next]...), next
}
