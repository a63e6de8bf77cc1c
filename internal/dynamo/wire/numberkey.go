package wire

// First bytes of the ordered forms of numbers.
const (
	keyNegative = 1
	keyZero     = 2
	keyPositive = 3
)

// AppendOrdered appends bytes whose order is the order of the numbers, and of
// which none are the beginning of another number's: a byte for the sign, one
// for the exponent, one for every two digits, and an end. A negative number has
// all but the first inverted.
func (n *Number) AppendOrdered(dst []byte) []byte {
	if n.count == 0 {
		return append(dst, keyZero)
	}
	sign, flip := byte(keyPositive), byte(0)
	if n.negative {
		sign, flip = keyNegative, 0xff
	}
	dst = append(dst, sign, byte(n.exp-minExponent)^flip)
	for i := 0; i < n.count; i += 2 {
		pair := (n.digits[i] - '0') * 10
		if i+1 < n.count {
			pair += n.digits[i+1] - '0'
		}
		dst = append(dst, (pair+1)^flip)
	}
	return append(dst, flip) // below, or above if inverted, every pair
}
