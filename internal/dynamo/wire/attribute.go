package wire

import "bytes"

// maxKey is the length limit of a partition key. A sort key's limit is lower and is enforced
// by the origin.
const maxKey = 2048

// Attribute splits an attribute value, for example {"S":"..."}, into its type as written and
// the text of its value. It returns false unless there is exactly one member, whose name is
// a DynamoDB type written without escapes and whose value has the JSON kind of that type.
func Attribute(v []byte) (typ, value []byte, ok bool) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '{' {
		return nil, nil, false
	}
	if i = skipSpace(v, i+1); i >= len(v) || v[i] != '"' {
		return nil, nil, false
	}
	i++
	n := bytes.IndexByte(v[i:min(len(v), i+maxTypeLen+1)], '"')
	if n < 0 {
		return nil, nil, false
	}
	typ = v[i : i+n]
	if i = skipSpace(v, i+n+1); i >= len(v) || v[i] != ':' {
		return nil, nil, false
	}
	first := skipSpace(v, i+1)
	last := skipValue(v, first)
	if last < 0 || !typeTakes(typ, v[first:last]) {
		return nil, nil, false
	}
	if i = skipSpace(v, last); i >= len(v) || v[i] != '}' || skipSpace(v, i+1) != len(v) {
		return nil, nil, false
	}
	return typ, v[first:last], true
}

// maxTypeLen is the length of the longest type name.
const maxTypeLen = len("BOOL")

func typeTakes(typ, value []byte) bool {
	kind := value[0]
	switch string(typ) {
	case "S", "N", "B":
		return kind == '"'
	case "SS", "NS", "BS", "L":
		return kind == '['
	case "M":
		return kind == '{'
	case "BOOL":
		return kind == 't' || kind == 'f'
	case "NULL":
		return kind == 't'
	}
	return false
}

// AppendScalar appends the key bytes of an attribute value of type typ ('S', 'N' or 'B'):
// the type, the length in two bytes, then the text, canonical number or bytes. Key bytes are
// equal exactly if DynamoDB considers the values equal, and none are a prefix of another
// value's. It returns false for any other type, an empty value, and a value too long for a
// key.
func AppendScalar(dst, attr []byte, typ byte) ([]byte, bool) {
	name, value, ok := Attribute(attr)
	if !ok || len(name) != 1 || name[0] != typ {
		return dst, false
	}
	out := append(dst, typ, 0, 0)
	first := len(out)
	switch typ {
	case 'S':
		out, ok = AppendExact(out, value)
	case 'N':
		out, ok = appendQuotedNumber(out, value)
	case 'B':
		out, ok = AppendBinary(out, value)
	default:
		return dst, false
	}
	n := len(out) - first
	if !ok || n == 0 || n > maxKey {
		return dst, false
	}
	out[first-2], out[first-1] = byte(n>>8), byte(n)
	return out, true
}

// appendQuotedNumber appends the canonical text of a number given as a JSON string. It
// rejects escapes, which numbers never need.
func appendQuotedNumber(dst, quoted []byte) ([]byte, bool) {
	raw, ok := unquote(quoted)
	if !ok {
		return dst, false
	}
	return AppendNumber(dst, raw)
}
