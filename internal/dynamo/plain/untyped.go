package plain

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// plainObject appends the item or map at i with plain values.
func (c *converter) plainObject(dst, b []byte, i int) ([]byte, int) {
	return c.object(dst, b, i, (*converter).plain)
}

// plain appends the attribute value at i as plain JSON.
func (c *converter) plain(dst, b []byte, i int) ([]byte, int) {
	if at(b, i) != '{' {
		return dst, -1
	}
	typ, i, _ := wire.ReadString(b, wire.SkipSpace(b, i+1))
	if i < 0 {
		return dst, -1
	}
	if i = wire.SkipSpace(b, i); at(b, i) != ':' {
		return dst, -1
	}
	i = wire.SkipSpace(b, i+1)
	kind := at(b, i)
	switch {
	case string(typ) == "S" && kind == '"', string(typ) == "B" && kind == '"', string(typ) == "BOOL" && (kind == 't' || kind == 'f'):
		dst, i = verbatim(dst, b, i)
	case string(typ) == "N":
		dst, i = plainNumber(dst, b, i)
	case string(typ) == "M":
		dst, i = c.plainObject(dst, b, i)
	case string(typ) == "L":
		dst, i = c.array(dst, b, i, (*converter).plain)
	case string(typ) == "SS", string(typ) == "BS":
		dst, i = c.plainSet(dst, b, i, false)
	case string(typ) == "NS":
		dst, i = c.plainSet(dst, b, i, true)
	case string(typ) == "NULL" && kind == 't':
		dst, i = append(dst, `null`...), wire.SkipValue(b, i)
	default:
		return dst, -1
	}
	if i < 0 {
		return dst, -1
	}
	if i = wire.SkipSpace(b, i); at(b, i) != '}' {
		return dst, -1 // a second type
	}
	return dst, i + 1
}

// plainNumber appends the number spelled by the string at i.
func plainNumber(dst, b []byte, i int) ([]byte, int) {
	raw, i, _ := wire.ReadString(b, i)
	if i < 0 {
		return dst, -1
	}
	dst, ok := appendNumber(dst, raw)
	if !ok {
		return dst, -1
	}
	return dst, i
}

// appendNumber appends the text of a DynamoDB number as a JSON number: unchanged if JSON has
// the same spelling, otherwise (+1, .5, 007) as DynamoDB would return it.
func appendNumber(dst, text []byte) ([]byte, bool) {
	if wire.Kind(text) == '0' && wire.Valid(text, 0) {
		return append(dst, text...), true
	}
	return wire.AppendNumber(dst, text)
}
