package wire

import (
	"encoding/binary"
	"math/bits"

	"github.com/kasoku/kasoku/internal/ascii"
)

// MaxDepth is the maximum nesting depth of requests and responses. DynamoDB allows 32 levels
// of documents, each of which takes two levels of JSON; documents that are somewhat deeper
// still reach the checks that reject them. The limit bounds the stack of recursive readers.
const MaxDepth = 400

// Valid reports whether b is exactly one JSON value, with optional white space around it,
// whose objects and arrays nest at most depth deep. It accepts the same text as
// encoding/json, including invalid UTF-8 inside strings, which the functions that read keys
// and expressions reject.
func Valid(b []byte, depth int) bool {
	i := scanValue(b, skipSpace(b, 0), depth)
	return i >= 0 && skipSpace(b, i) == len(b)
}

// TooDeep reports whether b is one well-formed JSON object that nests deeper than MaxDepth.
// It uses no stack and one bit of memory per level.
func TooDeep(b []byte) bool {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' || Valid(b, MaxDepth) {
		return false
	}
	var s nesting
	for {
		if i = s.step(b, i); i < 0 {
			return false
		}
		if i = skipSpace(b, i); s.depth == 0 {
			return i == len(b)
		}
	}
}

// nesting is the state of TooDeep.
type nesting struct {
	objects []uint64 // one bit per open level, set for an object
	depth   int
	// valued is set after a value, which only a comma or a closing bracket may follow.
	valued bool
}

// step reads the token at i and, if it is a member's name, the token after it. It returns
// the index after them, or -1.
func (s *nesting) step(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case s.valued && c == ',':
		s.valued = false
		return s.name(b, skipSpace(b, i+1))
	case c == '}' || c == ']':
		if !s.valued || s.inObject() != (c == '}') {
			return -1
		}
		s.depth--
		return i + 1
	case s.valued:
		return -1
	case c == '{' || c == '[':
		return s.open(b, i)
	}
	s.valued = true
	return scanValue(b, i, 0)
}

// open reads an opening bracket and, for an empty object or array, the closing one.
func (s *nesting) open(b []byte, i int) int {
	object := b[i] == '{'
	closing := byte(']')
	if object {
		closing = '}'
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == closing {
		s.valued = true
		return i + 1
	}
	if s.depth&63 == 0 {
		s.objects = append(s.objects[:s.depth/64], 0)
	}
	bit := uint64(1) << (s.depth & 63)
	if s.objects[s.depth/64] &^= bit; object {
		s.objects[s.depth/64] |= bit
	}
	s.depth++
	return s.name(b, i)
}

func (s *nesting) inObject() bool {
	d := s.depth - 1
	return s.objects[d/64]>>(d&63)&1 == 1
}

// name reads a member's name and its colon, if they are next.
func (s *nesting) name(b []byte, i int) int {
	if !s.inObject() {
		return i
	}
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = scanString(b, i+1); i < 0 {
		return -1
	}
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

// skipSpace returns the index of the first byte at or after i that isn't white space, or
// len(b). It is small enough to be inlined; white space after a token is rare.
func skipSpace(b []byte, i int) int {
	if uint(i) < uint(len(b)) && b[i] > ' ' {
		return i
	}
	return skipSpaces(b, i)
}

func skipSpaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// scanValue returns the index after the value that begins at i, or -1.
func scanValue(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return scanString(b, i+1)
	case '{':
		return scanObject(b, i+1, depth-1)
	case '[':
		return scanArray(b, i+1, depth-1)
	case 't':
		return scanWord(b, i, "true")
	case 'f':
		return scanWord(b, i, "false")
	case 'n':
		return scanWord(b, i, "null")
	}
	return scanNumber(b, i)
}

func scanObject(b []byte, i, depth int) int {
	if depth < 0 {
		return -1
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		if i = scanString(b, i+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		if i = scanValue(b, skipSpace(b, i+1), depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

func scanArray(b []byte, i, depth int) int {
	if depth < 0 {
		return -1
	}
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		if i = scanValue(b, i, depth); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

func scanWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func scanNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return -1
	case b[i] == '0':
		i++
	default:
		if i = scanDigits(b, i); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return scanDigits(b, i)
	}
	return i
}

// scanDigits returns the index after one or more digits, or -1.
func scanDigits(b []byte, i int) int {
	first := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == first {
		return -1
	}
	return i
}

func isDigit(c byte) bool { return c-'0' <= 9 }

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// specials sets the high bit of each byte of x that ends a run of plain bytes in a string:
// quote, backslash, control characters. Only the lowest such bit is exact; a borrow can set
// others above it.
func specials(x uint64) uint64 {
	q := x ^ eachByte*'"'
	s := x ^ eachByte*'\\'
	return ((q-eachByte)&^q | (s-eachByte)&^s | (x-eachByte*0x20)&^x) & highBits
}

// scanString returns the index after the string whose first byte after the opening quote is
// at i, or -1.
func scanString(b []byte, i int) int {
	for {
		i = skipPlain(b, i)
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			if i = scanEscape(b, i+1); i < 0 {
				return -1
			}
		default:
			return -1
		}
	}
}

// skipPlain returns the index of the first quote, backslash or control character at or after
// i, or len(b).
func skipPlain(b []byte, i int) int {
	for i+8 <= len(b) {
		if m := specials(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		i++
	}
	return i
}

// scanEscape returns the index after the escape whose first byte after the backslash is at
// i, or -1.
func scanEscape(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if _, ok := hex4(b, i+1); ok {
			return i + 5
		}
	}
	return -1
}

// hex4 parses the four hexadecimal digits at i.
func hex4(b []byte, i int) (r rune, ok bool) {
	if i+4 > len(b) {
		return 0, false
	}
	for _, c := range b[i : i+4] {
		digit, ok := ascii.HexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
