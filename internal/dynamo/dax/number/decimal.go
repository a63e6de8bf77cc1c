package number

import (
	"errors"
	"math"
	"strconv"
)

// maxDigits is the maximum number of digits. It exceeds what DynamoDB accepts (38) and
// returns (1E125 and 1E-130 written in full).
const maxDigits = 320

var (
	errSyntax = errors.New("a number is not one")
	errLong   = errors.New("a number has too many digits")
	errRange  = errors.New("a number is out of range")
)

// decimal is ±digits × 10^exp. Its digits have no leading zeros; zero has no digits.
type decimal struct {
	neg    bool
	digits []byte // ASCII
	exp    int
}

// digitBuffer is memory for the digits of a decimal.
type digitBuffer [maxDigits]byte

// parse parses a number's text: an optional sign, digits with an optional point, and an
// optional exponent.
func parse(buf *digitBuffer, text []byte) (d decimal, err error) {
	rest := text
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		d.neg = rest[0] == '-'
		rest = rest[1:]
	}
	d.digits = buf[:0]
	seen, point := false, false
	for len(rest) > 0 {
		switch c := rest[0]; {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return d.scale(rest, seen)
		default:
			seen = true
			if point {
				d.exp--
			}
			if len(d.digits) == 0 && c == '0' {
				break
			}
			if len(d.digits) == maxDigits {
				return d, errLong
			}
			d.digits = append(d.digits, c)
		}
		rest = rest[1:]
	}
	return d.scale(nil, seen)
}

// scale parses the exponent after the digits.
func (d decimal) scale(text []byte, seen bool) (decimal, error) {
	if !seen {
		return d, errSyntax
	}
	if len(text) == 0 {
		return d, nil
	}
	if text[0] != 'e' && text[0] != 'E' {
		return d, errSyntax
	}
	exp, err := exponent(text[1:])
	d.exp += exp
	return d, err
}

// exponent parses an integer of a few digits.
func exponent(text []byte) (n int, err error) {
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, errSyntax
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, errSyntax
		}
		if n = 10*n + int(c-'0'); n > math.MaxInt32 {
			return 0, errRange
		}
	}
	return sign * n, nil
}

// trimZeros removes trailing zeros after the point, so that equal numbers within DynamoDB's
// range have equal texts.
func (d *decimal) trimZeros() {
	for d.exp < 0 && len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
		d.exp++
	}
	if len(d.digits) == 0 {
		d.exp, d.neg = 0, false
	}
}

// appendText appends a decimal as DynamoDB would return it: all digits, no exponent and no
// needless zeros. With more zeros than any DynamoDB number has, it uses an exponent.
func (d decimal) appendText(dst []byte) []byte {
	d.trimZeros()
	if len(d.digits) == 0 {
		return append(dst, '0')
	}
	if d.neg {
		dst = append(dst, '-')
	}
	switch point := len(d.digits) + d.exp; {
	case d.exp > maxZeros || point < -maxZeros:
		dst = append(append(dst, d.digits...), 'E')
		return strconv.AppendInt(dst, int64(d.exp), 10)
	case d.exp >= 0:
		return appendZeros(append(dst, d.digits...), d.exp)
	case point > 0:
		dst = append(append(dst, d.digits[:point]...), '.')
		return append(dst, d.digits[point:]...)
	default:
		return append(appendZeros(append(dst, "0."...), -point), d.digits...)
	}
}

// maxZeros is the maximum number of consecutive zeros in a text without an exponent: 1E-130
// has the most.
const maxZeros = 130

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
