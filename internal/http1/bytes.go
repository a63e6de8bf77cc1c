package http1

import (
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Classes of bytes.
const (
	isTarget = 1 << iota // request target: visible ASCII but '#'
	isHost               // label of a host name
	isZone               // zone of an IPv6 address
	isHex
	isDigit
)

var class [256]uint8

func init() {
	for i := range 256 {
		c := byte(i)
		if c > ' ' && c < 0x7f && c != '#' {
			class[i] |= isTarget
		}
		if _, ok := ascii.HexDigit(c); ok {
			class[i] |= isHex
		}
		switch l := ascii.Lower(c); {
		case c >= '0' && c <= '9':
			class[i] |= isHost | isZone | isDigit
		case l >= 'a' && l <= 'z':
			class[i] |= isHost | isZone
		}
	}
	class['-'] |= isHost
	class['_'] |= isHost
	for _, c := range []byte("-._~%") {
		class[c] |= isZone
	}
}

// allOf reports whether every byte of b is of the class.
func allOf(b []byte, want uint8) bool {
	for _, c := range b {
		if class[c]&want == 0 {
			return false
		}
	}
	return true
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// control reports whether one of eight bytes may be a control byte. It is exact for the
// first such byte, and a tab counts.
func control(w uint64) bool {
	below := (w - ones*0x20) &^ w
	del := w ^ ones*0x7f
	del = (del - ones) &^ del
	return (below|del)&highs != 0
}

// ValidValue reports whether b may be a field value: it has no control byte except tab.
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
