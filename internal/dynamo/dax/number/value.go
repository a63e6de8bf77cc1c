package number

import (
	"math"
	"math/big"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// The tags before what is no simple integer.
const (
	tagPositive = 2 // an integer of any length, as bytes
	tagNegative = 3 // -1 minus it
	tagDecimal  = 4 // [exponent, mantissa]
)

// maxBytes is how long an integer of any length may be: as many as maxDigits take.
const maxBytes = 132

// AppendText reads a number in any of its forms and appends its text, which is exact.
// Whether DynamoDB takes the number is left to DynamoDB.
func AppendText(dst []byte, r *cbor.Reader) ([]byte, error) {
	var buf room
	switch r.Kind() {
	case cbor.Uint, cbor.Negative, cbor.Tag:
		d, err := read(&buf, r)
		if err != nil {
			return dst, err
		}
		return d.appendText(dst), nil
	case cbor.Double:
		f := r.Double()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return dst, errRange
		}
		return appendDouble(dst, f), nil
	}
	r.Fail("%s where a number is expected", r.Kind())
	return dst, r.Err()
}

// appendDouble writes the shortest text that stands for f.
func appendDouble(dst []byte, f float64) []byte {
	if f == 0 {
		return append(dst, '0') // minus zero is none
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// read reads what is no double.
func read(buf *room, r *cbor.Reader) (d decimal, err error) {
	if r.Kind() != cbor.Tag {
		return integer(buf, r)
	}
	ahead := *r
	if ahead.Tag() != tagDecimal {
		return integer(buf, r)
	}
	r.Tag()
	if n := r.Array(); n != 2 && r.Err() == nil {
		r.Fail("a decimal of %d parts", n)
	}
	exp := r.Int()
	d, err = integer(buf, r)
	if err == nil && (exp > math.MaxInt32 || exp < math.MinInt32) {
		err = errRange
	}
	d.exp = int(exp)
	return d, err
}

// integer reads an integer of any length.
func integer(buf *room, r *cbor.Reader) (d decimal, err error) {
	if r.Kind() == cbor.Tag {
		return long(buf, r)
	}
	v, negative := r.Uint()
	if err := r.Err(); err != nil {
		return d, err
	}
	d.neg = negative
	switch {
	case negative && v == math.MaxUint64:
		d.digits = append(buf[:0], "18446744073709551616"...)
	case negative:
		d.digits = strconv.AppendUint(buf[:0], v+1, 10)
	case v > 0:
		d.digits = strconv.AppendUint(buf[:0], v, 10)
	}
	return d, nil
}

// long reads an integer that is written as bytes.
func long(buf *room, r *cbor.Reader) (d decimal, err error) {
	tag := r.Tag()
	if tag != tagPositive && tag != tagNegative && r.Err() == nil {
		r.Fail("the tag %d where a number is expected", tag)
	}
	b := r.Bytes()
	if err := r.Err(); err != nil {
		return d, err
	}
	if len(b) > maxBytes {
		return d, errLong
	}
	v := new(big.Int).SetBytes(b)
	if tag == tagNegative {
		d.neg = true
		v.Add(v, big.NewInt(1))
	}
	if v.Sign() != 0 {
		d.digits = v.Append(buf[:0], 10)
	}
	if len(d.digits) > maxDigits {
		return d, errLong
	}
	return d, nil
}

// AppendCBOR appends the number that text is: an integer if it is one, however long,
// because clients print that as DynamoDB does, and a decimal otherwise.
func AppendCBOR(dst, text []byte) ([]byte, error) {
	var buf room
	d, err := parse(&buf, text)
	if err != nil {
		return dst, err
	}
	d.settle()
	if d.exp > 0 && len(d.digits)+d.exp <= maxDigits {
		d.digits = appendZeros(d.digits, d.exp)
		d.exp = 0
	}
	if d.exp != 0 {
		dst = cbor.AppendArray(cbor.AppendTag(dst, tagDecimal), 2)
		dst = cbor.AppendInt(dst, int64(d.exp))
	}
	return d.appendInteger(dst), nil
}

// settle takes the zeros away that stand behind the point at the end.
func (d *decimal) settle() {
	for d.exp < 0 && len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
		d.exp++
	}
	if len(d.digits) == 0 {
		d.exp, d.neg = 0, false
	}
}

// appendInteger appends the digits as an integer.
func (d *decimal) appendInteger(dst []byte) []byte {
	if v, ok := small(d.digits); ok {
		if d.neg {
			return cbor.AppendNegative(dst, v-1)
		}
		return cbor.AppendUint(dst, v)
	}
	v, _ := new(big.Int).SetString(string(d.digits), 10)
	tag := uint64(tagPositive)
	if d.neg {
		tag = tagNegative
		v.Sub(v, big.NewInt(1))
	}
	if d.neg && v.IsUint64() {
		return cbor.AppendNegative(dst, v.Uint64())
	}
	return cbor.AppendBytes(cbor.AppendTag(dst, tag), v.Bytes())
}

// small reads digits that fit into 64 bits.
func small(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		digit := uint64(c - '0')
		if v > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		v = 10*v + digit
	}
	return v, true
}
