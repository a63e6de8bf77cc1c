package value

import (
	"bytes"
	"cmp"
)

// Compare orders two Strings, two Numbers or two Binaries. It returns ok == false for values
// that have no order.
func Compare(v, w *Value) (order int, ok bool) {
	if v.Type != w.Type {
		return 0, false
	}
	switch v.Type {
	case String, Binary:
		return bytes.Compare(v.Text, w.Text), true
	case Number:
		return compareNumbers(v.Text, w.Text), true
	}
	return 0, false
}

// compareNumbers orders two numbers by their normal texts.
func compareNumbers(a, b []byte) int {
	below, under := isNegative(a), isNegative(b)
	switch {
	case below && under:
		return compareMagnitudes(b[1:], a[1:])
	case below:
		return -1
	case under:
		return 1
	}
	return compareMagnitudes(a, b)
}

func isNegative(text []byte) bool { return len(text) > 0 && text[0] == '-' }

// compareMagnitudes compares the lengths of the whole parts, then their digits, then the
// digits of the fractions. Neither fraction ends in zero.
func compareMagnitudes(a, b []byte) int {
	m, n := wholePart(a), wholePart(b)
	if m != n {
		return cmp.Compare(m, n)
	}
	return bytes.Compare(a, b)
}

func wholePart(text []byte) int {
	if i := bytes.IndexByte(text, '.'); i >= 0 {
		return i
	}
	return len(text)
}
