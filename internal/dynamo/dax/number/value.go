package number

import (
	"math"
	"math/big"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
)

// The tags of numbers other than plain integers.
const (
	tagPositive = 2 // an integer of arbitrary length, as bytes
	tagNegative = 3 // -1 minus it
	tagDecimal  = 4 // [exponent, mantissa]
)

// maxBytes is the maximum length of an integer of arbitrary length, which is enough for
// maxDigits digits.
const maxBytes = 132

// AppendText reads a number in any encoding and appends its text. The text is exact, and is
// the text that DynamoDB returns if it accepts the number. Whether it does is left to
// DynamoDB.
func AppendText(dst []byte, r *cbor.Reader) ([]byte, error) {
	var buf digitBuffer
	d, err := read(&buf, r)
	if err != nil {
		return dst, err
	}
	return d.appendText(dst), nil
}

// read reads any encoding.
func read(buf *digitBuffer, r *cbor.Reader) (d decimal, err error) {
	switch r.Kind() {
	case cbor.Uint, cbor.Negative:
		return integer(buf, r)
	case cbor.Tag:
		return tagged(buf, r)
	case cbor.Double:
		return double(buf, r)
	}
	r.Fail("%s where a number is expected", r.Kind())
	return d, r.Err()
}

// double reads a double, which represents the shortest text that denotes it.
func double(buf *digitBuffer, r *cbor.Reader) (d decimal, err error) {
	f := r.Double()
	switch {
	case r.Err() != nil:
		return d, r.Err()
	case math.IsNaN(f) || math.IsInf(f, 0):
		return d, errRange
	}
	var text [32]byte
	return parse(buf, strconv.AppendFloat(text[:0], f, 'e', -1, 64))
}

// tagged reads a mantissa with a power of ten, or an integer of arbitrary length.
func tagged(buf *digitBuffer, r *cbor.Reader) (d decimal, err error) {
	ahead := *r
	if ahead.Tag() != tagDecimal {
		return bigInteger(buf, r)
	}
	r.Tag()
	if n := r.Array(); n != 2 && r.Err() == nil {
		r.Fail("a decimal of %d parts", n)
	}
	exp := r.Int()
	if r.Kind() == cbor.Tag {
		d, err = bigInteger(buf, r)
	} else {
		d, err = integer(buf, r)
	}
	if err == nil && (exp > math.MaxInt32 || exp < math.MinInt32) {
		err = errRange
	}
	d.exp = int(exp)
	return d, err
}

// integer reads an integer of up to 64 bits.
func integer(buf *digitBuffer, r *cbor.Reader) (d decimal, err error) {
	v, negative := r.Uint()
	if err := r.Err(); err != nil {
		return d, err
	}
	return fromUint(buf, v, negative), nil
}

// fromUint returns the integer v, or -1-v if it is negative.
func fromUint(buf *digitBuffer, v uint64, negative bool) decimal {
	d := decimal{neg: negative}
	switch {
	case negative && v == math.MaxUint64:
		d.digits = append(buf[:0], "18446744073709551616"...)
	case negative:
		d.digits = strconv.AppendUint(buf[:0], v+1, 10)
	case v > 0:
		d.digits = strconv.AppendUint(buf[:0], v, 10)
	}
	return d
}

// bigInteger reads an integer encoded as bytes. Some clients use this encoding even for
// integers of fewer than 64 bits.
func bigInteger(buf *digitBuffer, r *cbor.Reader) (d decimal, err error) {
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
	if len(b) <= 8 {
		var v uint64
		for _, c := range b {
			v = v<<8 | uint64(c)
		}
		return fromUint(buf, v, tag == tagNegative), nil
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

// AppendCBOR appends the number with the given text: an integer of any size as an integer,
// because clients print it as DynamoDB does, any other number as a decimal.
func AppendCBOR(dst, text []byte) ([]byte, error) {
	var buf digitBuffer
	d, err := parse(&buf, text)
	if err != nil {
		return dst, err
	}
	d.trimZeros()
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

// appendInteger appends the digits as an integer.
func (d *decimal) appendInteger(dst []byte) []byte {
	if v, ok := parseUint(d.digits); ok {
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

// parseUint parses digits that fit in 64 bits.
func parseUint(digits []byte) (v uint64, ok bool) {
	for _, c := range digits {
		digit := uint64(c - '0')
		if v > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		v = 10*v + digit
	}
	return v, true
}
