package cbor

import (
	"encoding/binary"
	"math"
	"slices"
)

// AppendUint appends a non-negative integer.
func AppendUint(dst []byte, v uint64) []byte { return appendHead(dst, majorUint, v) }

// AppendNegative appends the integer -1-v.
func AppendNegative(dst []byte, v uint64) []byte { return appendHead(dst, majorNegative, v) }

// AppendInt appends an integer.
func AppendInt(dst []byte, v int64) []byte {
	if v < 0 {
		return AppendNegative(dst, uint64(-1-v))
	}
	return AppendUint(dst, uint64(v))
}

// AppendBytes appends a byte string.
func AppendBytes(dst, s []byte) []byte { return append(AppendBytesHead(dst, len(s)), s...) }

// AppendBytesHead begins a byte string of n bytes, which the caller must append.
func AppendBytesHead(dst []byte, n int) []byte { return appendHead(dst, majorBytes, uint64(n)) }

// AppendText appends text, which must be UTF-8.
func AppendText[T []byte | string](dst []byte, s T) []byte {
	return append(AppendTextHead(dst, len(s)), s...)
}

// AppendTextHead begins a text of n bytes, which the caller must append.
func AppendTextHead(dst []byte, n int) []byte { return appendHead(dst, majorText, uint64(n)) }

// AppendArray begins an array of n items.
func AppendArray(dst []byte, n int) []byte { return appendHead(dst, majorArray, uint64(n)) }

// AppendMap begins a map of n pairs.
func AppendMap(dst []byte, n int) []byte { return appendHead(dst, majorMap, uint64(n)) }

// AppendMapOpen begins a map of indefinite length, which must end with AppendBreak.
func AppendMapOpen(dst []byte) []byte { return append(dst, majorMap<<5|byteOpen) }

// AppendBreak ends an array or map of indefinite length.
func AppendBreak(dst []byte) []byte { return append(dst, byteBreak) }

// AppendTag appends a tag. The tagged item must follow.
func AppendTag(dst []byte, tag uint64) []byte { return appendHead(dst, majorTag, tag) }

// AppendNull appends null.
func AppendNull(dst []byte) []byte { return append(dst, byteNull) }

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, byteTrue)
	}
	return append(dst, byteFalse)
}

// AppendDouble appends a double.
func AppendDouble(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, byteDouble), math.Float64bits(v))
}

// WrapBytes turns dst[start:] into the content of a byte string. It is for content that is
// built in place before its length is known.
func WrapBytes(dst []byte, start int) []byte { return wrap(dst, start, majorBytes) }

// WrapText turns dst[start:] into the content of a text, like WrapBytes.
func WrapText(dst []byte, start int) []byte { return wrap(dst, start, majorText) }

func wrap(dst []byte, start int, major byte) []byte {
	var head [9]byte
	return slices.Insert(dst, start, appendHead(head[:0], major, uint64(len(dst)-start))...)
}

// appendHead appends the shortest head with the argument arg.
func appendHead(dst []byte, major byte, arg uint64) []byte {
	first := major << 5
	switch {
	case arg < 24:
		return append(dst, first|byte(arg))
	case arg <= math.MaxUint8:
		return append(dst, first|24, byte(arg))
	case arg <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, first|25), uint16(arg))
	case arg <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(dst, first|26), uint32(arg))
	}
	return binary.BigEndian.AppendUint64(append(dst, first|27), arg)
}
