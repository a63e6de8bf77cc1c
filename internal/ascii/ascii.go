// Package ascii compares and classifies the ASCII text of protocols: names of header
// fields, tokens, hexadecimal digits. Near finds the name that a misspelt word may mean.
//
// Unlike the functions of the same names in bytes and strings it folds no letters beyond
// ASCII: a Kelvin sign is not a "k". Nothing in it allocates, except for Near and for appending to
// a full buffer.
package ascii

// The digits of hexadecimal numbers.
const (
	LowerHex = "0123456789abcdef"
	UpperHex = "0123456789ABCDEF"
)

// text is a type that the functions accept.
type text interface{ ~string | ~[]byte }

// notHex is the value of a byte that is no hexadecimal digit.
const notHex = 0xff

var (
	lower      [256]byte
	hexValue   [256]byte
	token      [256]bool
	unreserved [256]bool
)

func init() {
	for i := range 256 {
		c := byte(i)
		lower[i], hexValue[i] = c, notHex
		switch {
		case '0' <= c && c <= '9':
			hexValue[i] = c - '0'
			token[i], unreserved[i] = true, true
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			lower[i] = c | 0x20
			if l := lower[i]; l <= 'f' {
				hexValue[i] = l - 'a' + 10
			}
			token[i], unreserved[i] = true, true
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		token[c] = true
	}
	for _, c := range []byte("-._~") {
		unreserved[c] = true
	}
}

// Lower returns c in lower case.
func Lower(c byte) byte { return lower[c] }

// AppendLower appends s in lower case.
func AppendLower[T text](dst []byte, s T) []byte {
	for i := range len(s) {
		dst = append(dst, lower[s[i]])
	}
	return dst
}

// EqualFold reports whether a and b are equal regardless of the case of their letters.
func EqualFold[A, B text](a A, b B) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if x, y := a[i], b[i]; x != y && lower[x] != lower[y] {
			return false
		}
	}
	return true
}

// ContainsFold reports whether one of names is equal to name regardless of the case of their
// letters.
func ContainsFold[T text](names []string, name T) bool {
	for _, n := range names {
		if EqualFold(n, name) {
			return true
		}
	}
	return false
}

// maxName is the length of the longest name in Names.
const maxName = 31

// Names is a set of names of up to maxName bytes, by their length.
type Names [maxName + 1][]string

// NewNames returns the set of names.
func NewNames(names ...string) *Names {
	s := &Names{}
	for _, n := range names {
		s[len(n)] = append(s[len(n)], n)
	}
	return s
}

// Has reports whether the set has name, regardless of the case of its letters.
func (s *Names) Has(name []byte) bool {
	if len(name) > maxName {
		return false
	}
	for _, n := range s[len(name)] {
		if EqualFold(n, name) {
			return true
		}
	}
	return false
}

// Trim returns b without the spaces and tabs at both ends.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// IsToken reports whether s is a token (RFC 9110, section 5.6.2), such as a method or the
// name of a header field.
func IsToken[T text](s T) bool {
	for i := range len(s) {
		if !token[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// IsTokenByte reports whether c may be part of a token.
func IsTokenByte(c byte) bool { return token[c] }

// HexDigit returns the value of a hexadecimal digit; ok is false if c is none.
func HexDigit(c byte) (value byte, ok bool) {
	value = hexValue[c]
	return value, value != notHex
}

// HexByte returns the byte that two hexadecimal digits are; ok is false if either is none.
func HexByte(high, low byte) (c byte, ok bool) {
	h, l := hexValue[high], hexValue[low]
	return h<<4 | l, h|l < 16
}

// AppendHex appends the last digits of v as a hexadecimal number, with leading zeros.
func AppendHex(dst []byte, v uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		dst = append(dst, LowerHex[v>>shift&15])
	}
	return dst
}

// AppendEscaped appends c percent-encoded, except when it is an unreserved character
// (RFC 3986, section 2.3).
func AppendEscaped(dst []byte, c byte) []byte {
	if unreserved[c] {
		return append(dst, c)
	}
	return append(dst, '%', UpperHex[c>>4], UpperHex[c&15])
}
