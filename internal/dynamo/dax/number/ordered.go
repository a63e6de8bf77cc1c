package number

import "encoding/binary"

// An ordered decimal consists of a header with the sign and the magnitude of the number, and
// groups of ten bits, each for three digits. The last group is a terminator that contains
// the number of zeros added to fill the group before it. For a negative number everything is
// inverted. Bytes therefore sort as numbers do.
const (
	orderedZero     = 0x80
	firstPositive   = 0xc0 // plus a small magnitude
	firstNegative   = 0x3f // minus a small magnitude
	minShort        = -62
	maxShort        = 61
	longPositive    = 0xfe // followed by the magnitude in four bytes
	longSmall       = 0x81
	longNegative    = 0x01
	longNegSmall    = 0x7e
	groupBits       = 10
	groupMax        = 1<<groupBits - 1
	groupOffset     = 12 // added to three digits; lower values are terminators
	digitsInGroup   = 3
	wordPositive    = 0x80000000
	wordNegative    = 0x7fffffff
	maxOrderedBytes = 5 + (maxDigits/digitsInGroup+2)*groupBits/8 + 1
)

// clientDigits is the maximum number of digits of a DynamoDB number, which is also the limit
// of clients.
const clientDigits = 38

// AppendOrdered appends the ordered decimal of text. Trailing zeros are kept, as clients do,
// so encodings of one number may differ. Only zeros beyond the limit of clients are removed,
// for example the last ones of 1E125, which DynamoDB writes in full.
func AppendOrdered(dst, text []byte) ([]byte, error) {
	var buf digitBuffer
	d, err := parse(&buf, text)
	if err != nil {
		return dst, err
	}
	if len(d.digits) == 0 {
		return append(dst, orderedZero), nil
	}
	for last := len(d.digits) - 1; last >= clientDigits && d.digits[last] == '0'; last-- {
		d.digits, d.exp = d.digits[:last], d.exp+1
	}
	if e := len(d.digits) + d.exp; e != int(int32(e)) {
		return dst, errRange
	}
	dst = d.appendMagnitude(dst)
	w := groups{dst: dst, neg: d.neg}
	for i := 0; i < len(d.digits); i += digitsInGroup {
		var g uint32
		for k := range digitsInGroup {
			g *= 10
			if i+k < len(d.digits) {
				g += uint32(d.digits[i+k] - '0')
			}
		}
		w = w.put(g + groupOffset)
	}
	w = w.put(uint32(len(d.digits)-1) % digitsInGroup)
	return w.flush(), nil
}

// appendMagnitude appends the header: the number of digits before the point.
func (d *decimal) appendMagnitude(dst []byte) []byte {
	e := len(d.digits) + d.exp
	switch {
	case e >= minShort && e <= maxShort && d.neg:
		return append(dst, byte(firstNegative-e))
	case e >= minShort && e <= maxShort:
		return append(dst, byte(firstPositive+e))
	}
	first, word := byte(longPositive), uint32(wordPositive)
	switch {
	case d.neg && e < 0:
		first, word = longNegSmall, wordNegative
	case d.neg:
		first, word = longNegative, wordNegative
	case e < 0:
		first = longSmall
	}
	return binary.BigEndian.AppendUint32(append(dst, first), uint32(int32(e))^word)
}

// groups writes groups of bits. It is a value so that it can be allocated on the stack.
type groups struct {
	dst  []byte
	neg  bool
	bits uint32
	n    uint // number of bits not yet written
}

func (w groups) put(g uint32) groups {
	if w.neg {
		g = groupMax - g
	}
	w.bits, w.n = w.bits<<groupBits|g, w.n+groupBits
	for w.n >= 8 {
		w.n -= 8
		w.dst = append(w.dst, byte(w.bits>>w.n))
	}
	return w
}

func (w groups) flush() []byte {
	if w.n > 0 {
		w.dst = append(w.dst, byte(w.bits<<(8-w.n)))
	}
	return w.dst
}

// AppendOrderedText appends the text of the ordered decimal b.
func AppendOrderedText(dst, b []byte) ([]byte, error) {
	if len(b) == 1 && b[0] == orderedZero {
		return append(dst, '0'), nil
	}
	if len(b) > maxOrderedBytes {
		return dst, errLong
	}
	var buf digitBuffer
	d := decimal{digits: buf[:0]}
	e, rest, ok := d.readMagnitude(b)
	if !ok {
		return dst, errSyntax
	}
	if d.digits, ok = readGroups(d.digits, d.neg, rest); !ok {
		return dst, errSyntax
	}
	d.exp = e - len(d.digits)
	return d.appendText(dst), nil
}

// readMagnitude decodes the header.
func (d *decimal) readMagnitude(b []byte) (e int, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	switch first := b[0]; {
	case first >= firstPositive+minShort && first <= firstPositive+maxShort:
		return int(first) - firstPositive, b[1:], true
	case first >= firstNegative-maxShort && first <= firstNegative-minShort:
		d.neg = true
		return firstNegative - int(first), b[1:], true
	case len(b) < 5:
		return 0, nil, false
	}
	word := binary.BigEndian.Uint32(b[1:])
	switch b[0] {
	case longPositive, longSmall:
		e = int(int32(word ^ wordPositive))
	case longNegative, longNegSmall:
		d.neg = true
		e = int(int32(word ^ wordNegative))
	default:
		return 0, nil, false
	}
	small := b[0] == longSmall || b[0] == longNegSmall
	return e, b[5:], small == (e < 0) && (e < minShort || e > maxShort)
}

// readGroups decodes the digits and the terminator. After it only padding to a full byte is
// valid.
func readGroups(digits []byte, neg bool, b []byte) (_ []byte, ok bool) {
	var bits uint32
	var n uint
	for i, c := range b {
		bits, n = bits<<8|uint32(c), n+8
		if n < groupBits {
			continue
		}
		n -= groupBits
		g := bits >> n & groupMax
		if neg {
			g = groupMax - g
		}
		if g < groupOffset {
			whole := i == len(b)-1 && bits&(1<<n-1) == 0
			return trimPadding(digits, g, whole)
		}
		if g -= groupOffset; g > 999 || len(digits)+digitsInGroup > maxDigits {
			return digits, false
		}
		digits = append(digits, byte('0'+g/100), byte('0'+g/10%10), byte('0'+g%10))
	}
	return digits, false
}

// trimPadding removes the zeros that filled the last group. It returns false if there is no
// such group or a removed digit isn't zero.
func trimPadding(digits []byte, terminator uint32, ok bool) ([]byte, bool) {
	if !ok || terminator > 2 || len(digits) == 0 || digits[0] == '0' {
		return digits, false
	}
	for range digitsInGroup - 1 - int(terminator) {
		last := len(digits) - 1
		if digits[last] != '0' {
			return digits, false
		}
		digits = digits[:last]
	}
	return digits, true
}
