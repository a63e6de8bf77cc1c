package cbor

// Kind is what an item is.
type Kind uint8

// The kinds of items. End is for what follows the last one and Invalid for what is
// not read here.
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

// MaxDepth is how many arrays, maps and tags may stand in each other.
const MaxDepth = 64

var kindNames = [...]string{"an item that DAX does not use", "the end", "an integer", "a negative integer", "a byte string", "a text",
	"an array", "a map", "a tag", "false", "true", "null", "a double", "a break"}

// String says what the kind is in an error's words.
func (k Kind) String() string { return kindNames[k] }

// The major types, as the first three bits of an item have them.
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

// The first bytes of items that have one value, or another form.
const (
	byteFalse  = 0xf4
	byteTrue   = 0xf5
	byteNull   = 0xf6
	byteDouble = 0xfb
	byteBreak  = 0xff
	byteOpen   = 31 // in the last five bits: the length is told by a Break
)

// kindOf tells the kind of the item that begins with first.
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
