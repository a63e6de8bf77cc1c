package shape

import "github.com/kasoku/kasoku/internal/dynamo/wire"

// Members of an attribute value, by type.
var (
	attributeTexts = &shape{kind: listKind, elem: anyText, max: unbounded}
	attributeBlobs = &shape{kind: listKind, elem: blob, max: unbounded}
)

// attributeMember returns the shape of the content of an attribute value whose type has that
// name, or nil if there is no such type.
func attributeMember(name []byte) *shape {
	switch string(name) {
	case "S", "N":
		return anyText
	case "B":
		return blob
	case "BOOL", "NULL":
		return flag
	case "SS", "NS":
		return attributeTexts
	case "BS":
		return attributeBlobs
	case "L":
		return attributes
	case "M":
		return item
	}
	return nil
}

// attribute checks an attribute value. The number of its types and the values themselves are
// checked elsewhere.
func (c *checker) attribute(i int) int {
	for i = c.open(i); c.b[i] != '}'; i = c.comma(i) {
		var name []byte
		var escaped bool
		name, escaped, i = c.member(i)
		if escaped {
			name = []byte(decoded(name))
		}
		s := attributeMember(name)
		if s == nil || c.b[i] == 'n' {
			i = wire.SkipValue(c.b, i)
		} else if i = c.value(i, s, inField); i < 0 {
			return -1
		}
	}
	return i + 1
}
