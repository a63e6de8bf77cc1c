package value

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

var (
	yes = []byte("true")
	no  = []byte("false")
)

// boolValue returns a boolean in JSON. PHP's two extensions store false differently.
func boolValue(data []byte) (Value, Reason) {
	body := no
	switch string(data) {
	case "1":
		body = yes
	case "", "0":
	default:
		return Value{}, Corrupt
	}
	return Value{Body: body, Length: int64(len(body))}, OK
}

// decimalValue returns a number that is stored as text. A server that has decremented it
// leaves spaces at its end. Numbers that JSON does not have, for example INF, are Unknown.
func decimalValue(data []byte) (Value, Reason) {
	data = bytes.TrimRight(data, " ")
	whole, ok := isNumber(data)
	if !ok {
		return Value{}, Unknown
	}
	v := Value{Body: data, Length: int64(len(data))}
	if whole == 0 {
		v.Coding, v.Length, v.bare = Decimal, v.Length+1, true
	}
	return v, OK
}

// appendDecimal appends a number in JSON.
func (v *Value) appendDecimal(dst []byte) []byte {
	if !v.bare {
		return strconv.AppendInt(dst, v.number, 10)
	}
	places, negative := bytes.CutPrefix(v.Body, []byte("-"))
	if negative {
		dst = append(dst, '-')
	}
	return append(append(dst, '0'), places...)
}

// isNumber reports whether b is a number of JSON (RFC 8259, section 6), and returns the
// number of digits before its point. PHP's may have none there, which is accepted.
func isNumber(b []byte) (whole int, ok bool) {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole = countDigits(b)
	if whole == 0 && !bytes.HasPrefix(b, []byte(".")) || whole > 1 && b[0] == '0' {
		return whole, false
	}
	return whole, isFraction(b[whole:])
}

// isFraction reports whether b is empty or a fraction, an exponent or both.
func isFraction(b []byte) bool {
	if len(b) > 0 && b[0] == '.' {
		places := countDigits(b[1:])
		if places == 0 {
			return false
		}
		b = b[1+places:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		return len(b) > 0 && countDigits(b) == len(b)
	}
	return len(b) == 0
}

// countDigits returns the number of digits at the start of b.
func countDigits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// integerValue returns a number in two's complement with that many bits. Only positive
// numbers are shorter than their type.
func integerValue(data []byte, bits int) (Value, Reason) {
	if len(data)*8 > bits {
		return Value{}, Corrupt
	}
	var whole [8]byte
	copy(whole[8-len(data):], data)
	n := int64(binary.BigEndian.Uint64(whole[:])) << (64 - bits) >> (64 - bits)
	var room [20]byte
	length := len(strconv.AppendInt(room[:0], n, 10))
	return Value{Body: data, Coding: Decimal, Length: int64(length), number: n}, OK
}
