package wire

// sumDigits is the number of digits needed to add two numbers: 38, one for a carry, and one
// more for sums such as 1e38 - 1, which has 38 digits but starts one place lower. Any wider
// sum has more than 38 digits: the number with the last digit is too small to remove more
// than one leading place from the other.
const sumDigits = maxDigits + 2

// Negate changes the sign. Zero has none.
func (n *Number) Negate() { n.negative = n.count > 0 && !n.negative }

// Add sets n to the sum of a and b. It returns an overflow if the sum is out of range or has
// more than 38 digits.
func (n *Number) Add(a, b *Number) NumberFault {
	switch {
	case a.count == 0:
		*n = *b
		return NumberFine
	case b.count == 0:
		*n = *a
		return NumberFine
	}
	top := max(a.exp, b.exp) + 1 // the carry's place
	last := min(a.lastPlace(), b.lastPlace())
	width := top - last + 1
	if width > sumDigits {
		return NumberOverflow
	}
	var sum [sumDigits]int8
	a.addTo(&sum, top)
	b.addTo(&sum, top)
	return n.setSum(sum[:width], top)
}

// lastPlace returns the power of ten of the last digit.
func (n *Number) lastPlace() int { return n.exp - n.count + 1 }

// addTo adds the signed digits to sum, whose first digit has place top.
func (n *Number) addTo(sum *[sumDigits]int8, top int) {
	for i, c := range n.digits[:n.count] {
		d := int8(c - '0')
		if n.negative {
			d = -d
		}
		sum[top-n.exp+i] += d
	}
}

// setSum sets n to a sum of digits between -18 and 18, of which the first has place top.
func (n *Number) setSum(sum []int8, top int) NumberFault {
	*n = Number{}
	first := 0
	for first < len(sum) && sum[first] == 0 {
		first++
	}
	if first == len(sum) {
		return NumberFine
	}
	if n.negative = sum[first] < 0; n.negative {
		for i := range sum {
			sum[i] = -sum[i]
		}
	}
	for i := len(sum) - 1; i > 0; i-- {
		switch {
		case sum[i] < 0:
			sum[i] += 10
			sum[i-1]--
		case sum[i] > 9:
			sum[i] -= 10
			sum[i-1]++
		}
	}
	for sum[0] == 0 {
		sum, top = sum[1:], top-1
	}
	for sum[len(sum)-1] == 0 {
		sum = sum[:len(sum)-1]
	}
	if len(sum) > maxDigits {
		return NumberOverflow
	}
	n.exp, n.count = top, len(sum)
	for i, d := range sum {
		n.digits[i] = '0' + byte(d)
	}
	return rangeFault(top)
}
