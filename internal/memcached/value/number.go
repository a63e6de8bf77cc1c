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

// boolValue is a boolean as JSON has it. PHP's two extensions differ in what false is.
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

// decimalValue is a number that is stored as text. A server that has counted one down
// leaves spaces at its end. What JSON cannot say, such as INF, has no form here.
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

// appendDecimal appends a number as JSON has it.
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

// isNumber tells whether b is a number of JSON (RFC 8259, section 6), and how many
// digits it has before its point. PHP's may have none there, which is let pass.
func isNumber(b []byte) (whole int, ok bool) {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole = countDigits(b)
	if whole == 0 && !bytes.HasPrefix(b, []byte(".")) || whole > 1 && b[0] == '0' {
		return whole, false
	}
	return whole, isFraction(b[whole:])
}

// isFraction tells whether b is what may follow the digits before the point: nothing,
// or places, an exponent or both.
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

// countDigits returns how many digits b begins with.
func countDigits(b []byte) int {
	for i, c := range b {
		if c < '0' || c > '9' {
			return i
		}
	}
	return len(b)
}

// integerValue is a number in two's complement of that many bits. Only positive ones
// are shorter than their type.
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
