package key

import "github.com/kasoku/kasoku/internal/ascii"

// appendDecoded appends v with its percent-encoding undone. It is false if v is not
// well encoded.
func appendDecoded(dst, v []byte, plus bool) ([]byte, bool) {
	for len(v) > 0 {
		c, size := unescape(v)
		if size == 0 {
			return dst, false
		}
		if c == '+' && size == 1 && plus {
			c = ' '
		}
		dst, v = append(dst, c), v[size:]
	}
	return dst, true
}

// unescape gives the first byte of v, which is not empty, and how many bytes it is
// written with: 0 for a percent sign that escapes nothing.
func unescape(v []byte) (c byte, size int) {
	if v[0] != '%' {
		return v[0], 1
	}
	if len(v) < 3 {
		return '%', 0
	}
	c, ok := ascii.HexByte(v[1], v[2])
	if !ok {
		return '%', 0
	}
	return c, 3
}

// Escape says how keys are escaped as nginx does it: bytes up to the blank, and the
// percent sign, become %xx.
type Escape uint8

const (
	// None escapes nothing: a key with such bytes is not sent.
	None Escape = iota
	// NginxLower writes %0a: nginx until 1.7.3, and memcached_hash.
	NginxLower
	// NginxUpper writes %0A: nginx since 1.7.4.
	NginxUpper
)

// Escapes lists the names of the escapes, by value.
func Escapes() []string { return []string{"none", "nginx-lower", "nginx-upper"} }

// String is what the configuration calls it.
func (e Escape) String() string { return Escapes()[e] }

// ParseEscape finds the escape of a name; the empty name is None.
func ParseEscape(name string) (Escape, bool) {
	for i, n := range Escapes() {
		if n == name {
			return Escape(i), true
		}
	}
	return None, name == ""
}

// append appends key with its escapes.
func (e Escape) append(dst, key []byte) []byte {
	if e == None {
		return append(dst, key...)
	}
	digits := ascii.LowerHex
	if e == NginxUpper {
		digits = ascii.UpperHex
	}
	for _, c := range key {
		if c <= ' ' || c == '%' {
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}
