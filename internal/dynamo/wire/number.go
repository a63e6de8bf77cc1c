package wire

import (
	"bytes"
	"math"
)

// NumberFault describes the error in the text of a number.
type NumberFault uint8

const (
	NumberFine      NumberFault = iota
	NumberMalformed             // not a number at all, or empty
	NumberTooPrecise
	NumberOverflow
	NumberUnderflow
)

// Message returns DynamoDB's message for the fault in text.
func (f NumberFault) Message(text []byte) string {
	switch f {
	case NumberMalformed:
		if len(text) == 0 {
			return "The parameter cannot be converted to a numeric value"
		}
		return "The parameter cannot be converted to a numeric value: " + string(text)
	case NumberTooPrecise:
		return "Attempting to store more than 38 significant digits in a Number"
	case NumberOverflow:
		return "Number overflow. Attempting to store a number with magnitude larger than supported range"
	case NumberUnderflow:
		return "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	}
	return ""
}

const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
	// farExponent limits an exponent while it is parsed. It exceeds the range of numbers by
	// more than the digits of any body.
	farExponent = math.MaxInt / 16

	// Parsing a further digit does not overflow an int, whatever its size.
	_ uint = math.MaxInt - (10*farExponent + 9)
)

// Number is a DynamoDB number: digits[0].digits[1]digits[2]... times ten to the power of
// exp. The first and the last digit are not zero. The number zero has no digits.
type Number struct {
	negative bool
	count    int
	exp      int
	digits   [maxDigits]byte // '0' to '9'
}

// Parse parses the text of a number (not its JSON string) with DynamoDB's grammar and range.
func (n *Number) Parse(text []byte) NumberFault {
	*n = Number{}
	rest, fraction, fits := n.mantissa(text)
	if rest == nil {
		return NumberMalformed
	}
	exp, ok := exponent(rest)
	if !ok {
		return NumberMalformed
	}
	if n.count == 0 {
		// DynamoDB checks the range of zero by the place of its digit like that of any
		// number: 0e126 and 0.0e126 differ.
		n.negative, n.exp = false, 0
		return rangeFault(exp - fraction)
	}
	n.exp += exp
	if fault := rangeFault(n.exp); fault != NumberFine {
		return fault
	}
	if !fits {
		return NumberTooPrecise
	}
	return NumberFine
}

func rangeFault(exp int) NumberFault {
	switch {
	case exp > maxExponent:
		return NumberOverflow
	case exp < minExponent:
		return NumberUnderflow
	}
	return NumberFine
}

// mantissa parses sign, digits and point. rest is nil if there is no digit. fraction is the
// number of digits after the point. fits is false if there are more significant digits than
// n can hold.
func (n *Number) mantissa(text []byte) (rest []byte, fraction int, fits bool) {
	i := 0
	if i < len(text) && (text[i] == '+' || text[i] == '-') {
		n.negative = text[i] == '-'
		i++
	}
	point, digits, zeros, fits := false, 0, 0, true
	n.exp = -1
loop:
	for ; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case !isDigit(c):
			break loop
		}
		digits++
		if point {
			fraction++
		}
		switch {
		case c != '0':
			fits = fits && n.push(zeros, c)
			zeros = 0
		case n.count > 0:
			zeros++
		case point:
			n.exp--
		}
		if n.count > 0 && !point {
			n.exp++
		}
	}
	if digits == 0 {
		return nil, 0, false
	}
	return text[i:], fraction, fits
}

// push appends a digit after the given number of zeros.
func (n *Number) push(zeros int, c byte) bool {
	if n.count+zeros >= maxDigits {
		return false
	}
	for range zeros {
		n.digits[n.count] = '0'
		n.count++
	}
	n.digits[n.count] = c
	n.count++
	return true
}

// exponent parses "", "e5", "E+5" or "e-5".
func exponent(text []byte) (exp int, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text = text[1:]
	negative := false
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		exp = min(exp*10+int(c-'0'), farExponent)
	}
	if negative {
		exp = -exp
	}
	return exp, true
}

// Append appends the number as DynamoDB returns it: all digits, no exponent, no needless
// zeros.
func (n *Number) Append(dst []byte) []byte {
	if n.count == 0 {
		return append(dst, '0')
	}
	if n.negative {
		dst = append(dst, '-')
	}
	digits := n.digits[:n.count]
	if n.exp < 0 {
		dst = append(dst, '0', '.')
		dst = appendZeros(dst, -n.exp-1)
		return append(dst, digits...)
	}
	whole := n.exp + 1
	if whole >= n.count {
		dst = append(dst, digits...)
		return appendZeros(dst, whole-n.count)
	}
	dst = append(dst, digits[:whole]...)
	dst = append(dst, '.')
	return append(dst, digits[whole:]...)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// Size returns the number's share of the size of its item.
func (n *Number) Size() int {
	whole := min(max(n.exp+1, 0), n.count)
	size := 1 + (whole+1)/2 + (n.count-whole+1)/2
	if n.negative {
		size++
	}
	return size
}

// Compare orders numbers by value.
func (n *Number) Compare(m *Number) int {
	a, b := n.sign(), m.sign()
	if a != b || a == 0 {
		return a - b
	}
	if n.exp != m.exp {
		if n.exp < m.exp {
			return -a
		}
		return a
	}
	return a * bytes.Compare(n.digits[:n.count], m.digits[:m.count])
}

func (n *Number) sign() int {
	switch {
	case n.count == 0:
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// AppendNumber appends the canonical form of a number's text. It returns false if DynamoDB
// would reject the number.
func AppendNumber(dst, text []byte) ([]byte, bool) {
	if isPlainInteger(text) {
		return append(dst, text...), true
	}
	var n Number
	if n.Parse(text) != NumberFine {
		return dst, false
	}
	return n.Append(dst), true
}

// isPlainInteger reports whether text is an integer in canonical form, the most common case.
func isPlainInteger(text []byte) bool {
	if len(text) == 1 {
		return isDigit(text[0])
	}
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > maxDigits || text[0] == '0' {
		return false
	}
	for _, c := range text {
		if !isDigit(c) {
			return false
		}
	}
	return true
}
