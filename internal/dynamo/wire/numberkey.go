package wire

// First bytes of the ordered form of numbers.
const (
	keyNegative = 1
	keyZero     = 2
	keyPositive = 3
)

// AppendOrdered appends bytes that sort as the numbers do, and of which none are a prefix of
// another number's: one byte for the sign, one for the exponent, one for every two digits,
// and an end marker. For a negative number all bytes except the first are inverted.
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
	return append(dst, flip) // less (greater if inverted) than every pair
}
