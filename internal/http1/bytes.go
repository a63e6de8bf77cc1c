package http1

import "encoding/binary"

// What a byte may be part of.
const (
	isToken  = 1 << iota // method, field name
	isTarget             // request target: visible ASCII but '#'
	isHost               // label of a host name
	isZone               // zone of an IPv6 address
	isHex
	isDigit
)

var (
	class [256]uint8
	lower [256]byte
	hex   [256]byte
)

func init() {
	for i := range 256 {
		c := byte(i)
		lower[i] = c
		if c > ' ' && c < 0x7f && c != '#' {
			class[i] |= isTarget
		}
		switch {
		case c >= '0' && c <= '9':
			class[i] |= isToken | isHost | isZone | isHex | isDigit
			hex[i] = c - '0'
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			class[i] |= isToken | isHost | isZone
			lower[i] = c | 0x20
			if l := lower[i]; l <= 'f' {
				class[i] |= isHex
				hex[i] = l - 'a' + 10
			}
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		class[c] |= isToken
	}
	class['-'] |= isHost
	class['_'] |= isHost
	for _, c := range []byte("-._~%") {
		class[c] |= isZone
	}
}

// equalFold compares names of the same length without regard to ASCII case.
func equalFold(b []byte, s string) bool {
	for i := range b {
		if x, y := b[i], s[i]; x != y && lower[x] != lower[y] {
			return false
		}
	}
	return true
}

// fold is equalFold for any two lengths.
func fold(b []byte, s string) bool { return len(b) == len(s) && equalFold(b, s) }

// allOf says whether every byte of b is of the class.
func allOf(b []byte, want uint8) bool {
	for _, c := range b {
		if class[c]&want == 0 {
			return false
		}
	}
	return true
}

// IsToken says whether b is a token: what a method or a field name may be.
func IsToken(b []byte) bool { return len(b) > 0 && allOf(b, isToken) }

// trim takes spaces and tabs off both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// control says whether one of eight bytes may be a control byte. It is exact
// for the first such byte, and a tab counts.
func control(w uint64) bool {
	below := (w - ones*0x20) &^ w
	del := w ^ ones*0x7f
	del = (del - ones) &^ del
	return (below|del)&highs != 0
}

// ValidValue says whether b may be a field value: no control byte but tab.
func ValidValue(b []byte) bool {
	for len(b) >= 8 {
		if control(binary.LittleEndian.Uint64(b)) && !plain(b[:8]) {
			return false
		}
		b = b[8:]
	}
	return plain(b)
}

// plain is ValidValue byte by byte.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}
