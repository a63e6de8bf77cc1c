package cbor

// Kind is the kind of an item.
type Kind uint8

// The kinds of items. End means that no item follows, Invalid an unsupported item.
const (
	Invalid Kind = iota
	End
	Uint
	Negative
	Bytes
	Text
	Array
	Map
	Tag
	False
	True
	Null
	Double
	Break
)

// MaxDepth is the maximum nesting depth of arrays, maps and tags.
const MaxDepth = 64

var kindNames = [...]string{"an item that DAX does not use", "the end", "an integer", "a negative integer", "a byte string", "a text",
	"an array", "a map", "a tag", "false", "true", "null", "a double", "a break"}

// String returns the name of the kind for error messages.
func (k Kind) String() string { return kindNames[k] }

// The major types: the first three bits of an item.
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorOther
)

// The initial bytes of items with a fixed value or form.
const (
	byteFalse  = 0xf4
	byteTrue   = 0xf5
	byteNull   = 0xf6
	byteDouble = 0xfb
	byteBreak  = 0xff
	byteOpen   = 31 // in the low five bits: indefinite length
)

// kindOf returns the kind of an item with the given initial byte.
func kindOf(first byte) Kind {
	info := first & 31
	switch major := first >> 5; {
	case major == majorOther:
		return otherKind(first)
	case info == byteOpen && (major == majorArray || major == majorMap), info < 28:
		return Uint + Kind(major)
	}
	return Invalid
}

func otherKind(first byte) Kind {
	switch first {
	case byteFalse:
		return False
	case byteTrue:
		return True
	case byteNull:
		return Null
	case byteDouble:
		return Double
	case byteBreak:
		return Break
	}
	return Invalid
}
