package msgpack

import (
	"encoding/binary"
	"errors"
)

// ErrShort means that the bytes end before the value: more of them may complete it.
var ErrShort = errors.New("msgpack: value is cut short")

// ErrInvalid means that no value starts with the byte found (0xc1, the only one that the
// format forbids).
var ErrInvalid = errors.New("msgpack: invalid byte 0xc1")

// Kind is the kind of a value, whatever its encoded form.
type Kind uint8

// The kinds. No value has the kind Invalid.
const (
	Invalid Kind = iota
	Nil
	Bool
	Int // signed and unsigned
	Float
	String
	Binary
	Array
	Map
	Ext
)

var kindNames = [...]string{"nothing", "nil", "a bool", "an integer", "a float", "a string", "binary data", "an array", "a map", "an extension"}

// String returns the kind with its article, for messages: "a map".
func (k Kind) String() string { return kindNames[k] }

// head is the parsed head of a value.
type head struct {
	kind  Kind
	code  byte
	start int // bytes of the head itself, including an extension's type
	size  int // bytes of payload after the head
	count int // values that follow after the payload: 2 for each pair of a map
}

// readHead parses the head of the value at the start of b. ErrShort means that the head, its
// payload, or its contents exceed b; contained values take at least a byte each, so count is
// never above len(b).
func readHead(b []byte) (head, error) {
	if len(b) == 0 {
		return head{}, ErrShort
	}
	h := head{code: b[0], start: 1}
	switch c := b[0]; {
	case c < fixMap || c >= fixNegative:
		h.kind = Int
	case c < fixArray:
		h.kind, h.count = Map, 2*int(c&0x0f)
	case c < fixStr:
		h.kind, h.count = Array, int(c&0x0f)
	case c < codeNil:
		h.kind, h.size = String, int(c&0x1f)
	case c == codeNever:
		return head{}, ErrInvalid
	default:
		if !h.readCode(b) {
			return head{}, ErrShort
		}
	}
	if left := len(b) - h.start; h.size > left || h.count > left-h.size {
		return head{}, ErrShort
	}
	return h, nil
}

// readCode is readHead for the codes 0xc0 to 0xdf. It reports whether b holds the whole
// head.
func (h *head) readCode(b []byte) bool {
	shape := &shapes[h.code-codeNil]
	h.kind, h.size = shape.kind, int(shape.size)
	h.start = 1 + int(shape.length) + int(shape.ext)
	if len(b) < h.start {
		return false
	}
	var n int
	switch shape.length {
	case 1:
		n = int(b[1])
	case 2:
		n = int(binary.BigEndian.Uint16(b[1:]))
	case 4:
		// With 32-bit ints, a larger length can't be in memory.
		v := binary.BigEndian.Uint32(b[1:])
		if int64(v) > int64(len(b)) {
			return false
		}
		n = int(v)
	default:
		return true
	}
	switch h.kind {
	case Array:
		h.count = n
	case Map:
		if n > len(b)/2 {
			return false
		}
		h.count = 2 * n
	default:
		h.size = n
	}
	return true
}

// shapes holds for each code from 0xc0 to 0xdf the size of its length, the size of an
// extension's type, and the size of the payload if there is no length.
var shapes = [32]struct {
	kind              Kind
	length, ext, size uint8
}{
	0:                      {kind: Nil},
	codeFalse - codeNil:    {kind: Bool},
	codeTrue - codeNil:     {kind: Bool},
	codeBin8 - codeNil:     {kind: Binary, length: 1},
	codeBin16 - codeNil:    {kind: Binary, length: 2},
	codeBin32 - codeNil:    {kind: Binary, length: 4},
	codeExt8 - codeNil:     {kind: Ext, length: 1, ext: 1},
	codeExt16 - codeNil:    {kind: Ext, length: 2, ext: 1},
	codeExt32 - codeNil:    {kind: Ext, length: 4, ext: 1},
	codeFloat32 - codeNil:  {kind: Float, size: 4},
	codeFloat64 - codeNil:  {kind: Float, size: 8},
	codeUint8 - codeNil:    {kind: Int, size: 1},
	codeUint16 - codeNil:   {kind: Int, size: 2},
	codeUint32 - codeNil:   {kind: Int, size: 4},
	codeUint64 - codeNil:   {kind: Int, size: 8},
	codeInt8 - codeNil:     {kind: Int, size: 1},
	codeInt16 - codeNil:    {kind: Int, size: 2},
	codeInt32 - codeNil:    {kind: Int, size: 4},
	codeInt64 - codeNil:    {kind: Int, size: 8},
	codeFixExt1 - codeNil:  {kind: Ext, ext: 1, size: 1},
	codeFixExt2 - codeNil:  {kind: Ext, ext: 1, size: 2},
	codeFixExt4 - codeNil:  {kind: Ext, ext: 1, size: 4},
	codeFixExt8 - codeNil:  {kind: Ext, ext: 1, size: 8},
	codeFixExt16 - codeNil: {kind: Ext, ext: 1, size: 16},
	codeStr8 - codeNil:     {kind: String, length: 1},
	codeStr16 - codeNil:    {kind: String, length: 2},
	codeStr32 - codeNil:    {kind: String, length: 4},
	codeArray16 - codeNil:  {kind: Array, length: 2},
	codeArray32 - codeNil:  {kind: Array, length: 4},
	codeMap16 - codeNil:    {kind: Map, length: 2},
	codeMap32 - codeNil:    {kind: Map, length: 4},
}

// Skip returns the length in bytes of the first value in b, including its contents. The
// error is ErrShort if b ends before the value, and ErrInvalid if no value can start like
// that.
//
// It counts the remaining values instead of keeping a stack of open arrays and maps, so that
// nesting costs nothing.
func Skip(b []byte) (n int, err error) {
	for left := 1; left > 0; left-- {
		h, err := readHead(b[n:])
		if err != nil {
			return 0, err
		}
		n += h.start + h.size
		left += h.count
		if left-1 > len(b)-n {
			return 0, ErrShort
		}
	}
	return n, nil
}

// MaxNested is the maximum depth for SkipNested.
const MaxNested = 128

// ErrDeep means that arrays and maps are nested deeper than allowed.
var ErrDeep = errors.New("msgpack: nested too deep")

// SkipNested is Skip for a value with at most depth nested arrays and maps, including
// itself; deeper nesting is ErrDeep. The value can then safely be decoded by recursion.
func SkipNested(b []byte, depth int) (n int, err error) {
	depth = min(depth, MaxNested)
	var left [MaxNested + 1]int // remaining values by depth; the outer ones are last
	left[0] = 1
	for d := 0; ; {
		for left[d] == 0 {
			if d == 0 {
				return n, nil
			}
			d--
		}
		left[d]--
		h, err := readHead(b[n:])
		if err != nil {
			return 0, err
		}
		n += h.start + h.size
		if h.kind != Array && h.kind != Map {
			continue
		}
		if d >= depth {
			return 0, ErrDeep
		}
		d++
		left[d] = h.count
	}
}
