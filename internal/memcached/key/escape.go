package key

import "github.com/kasoku/kasoku/internal/ascii"

// appendDecoded appends v with its percent-encoding decoded. It reports false if v is
// malformed.
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

// unescape returns the first byte of v, which is not empty, and the number of bytes it is
// written with. The size is 0 for a percent sign without two digits.
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

// Escape is one of nginx's ways to escape keys: bytes up to the space, and the percent sign,
// become %xx.
type Escape uint8

const (
	// None does not escape: a key with such bytes is not sent.
	None Escape = iota
	// NginxLower writes %0a, as nginx up to 1.7.3 and memcached_hash do.
	NginxLower
	// NginxUpper writes %0A, as nginx since 1.7.4 does.
	NginxUpper
)

// Escapes returns the names of the escapes, by value.
func Escapes() []string { return []string{"none", "nginx-lower", "nginx-upper"} }

// String returns the name in the configuration.
func (e Escape) String() string { return Escapes()[e] }

// ParseEscape returns the escape with a name; the empty name is None.
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
