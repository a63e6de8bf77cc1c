// Package msgpack encodes and decodes the subset of MessagePack that a Fluentd client needs.
//
// The Append functions append one value, or the head of one, to a slice in the shortest
// form, and allocate nothing except the slice's growth. For example:
//
//	b = msgpack.AppendMapLen(b, 1)
//	b = msgpack.AppendString(b, "status")
//	b = msgpack.AppendInt(b, 200)
//
// Skip and Reader decode bytes from a network or a user: they never panic, never recurse,
// and reject lengths beyond the input.
package msgpack

import (
	"encoding/binary"
	"math"
	"time"
)

// The first bytes of the format, one for each kind.
const (
	fixMap   = 0x80 // to 0x8f: a map of 0 to 15 pairs
	fixArray = 0x90 // to 0x9f: an array of 0 to 15 values
	fixStr   = 0xa0 // to 0xbf: a string of 0 to 31 bytes

	codeNil   = 0xc0
	codeNever = 0xc1
	codeFalse = 0xc2
	codeTrue  = 0xc3

	codeBin8  = 0xc4
	codeBin16 = 0xc5
	codeBin32 = 0xc6
	codeExt8  = 0xc7
	codeExt16 = 0xc8
	codeExt32 = 0xc9

	codeFloat32 = 0xca
	codeFloat64 = 0xcb

	codeUint8  = 0xcc
	codeUint16 = 0xcd
	codeUint32 = 0xce
	codeUint64 = 0xcf
	codeInt8   = 0xd0
	codeInt16  = 0xd1
	codeInt32  = 0xd2
	codeInt64  = 0xd3

	codeFixExt1  = 0xd4
	codeFixExt2  = 0xd5
	codeFixExt4  = 0xd6
	codeFixExt8  = 0xd7
	codeFixExt16 = 0xd8

	codeStr8    = 0xd9
	codeStr16   = 0xda
	codeStr32   = 0xdb
	codeArray16 = 0xdc
	codeArray32 = 0xdd
	codeMap16   = 0xde
	codeMap32   = 0xdf

	fixNegative = 0xe0 // to 0xff: the integers -32 to -1
)

// AppendNil appends nil.
func AppendNil(dst []byte) []byte { return append(dst, codeNil) }

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, codeTrue)
	}
	return append(dst, codeFalse)
}

// AppendInt appends an integer; a non-negative one as by AppendUint.
func AppendInt(dst []byte, v int64) []byte {
	switch {
	case v >= 0:
		return AppendUint(dst, uint64(v))
	case v >= -32:
		return append(dst, byte(v))
	case v >= math.MinInt8:
		return append(dst, codeInt8, byte(v))
	case v >= math.MinInt16:
		return append(dst, codeInt16, byte(v>>8), byte(v))
	case v >= math.MinInt32:
		return append(dst, codeInt32, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, codeInt64), uint64(v))
}

// AppendUint appends an integer.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 0x80:
		return append(dst, byte(v))
	case v <= math.MaxUint8:
		return append(dst, codeUint8, byte(v))
	case v <= math.MaxUint16:
		return append(dst, codeUint16, byte(v>>8), byte(v))
	case v <= math.MaxUint32:
		return append(dst, codeUint32, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, codeUint64), v)
}

// AppendFloat64 appends a double-precision number.
func AppendFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, codeFloat64), math.Float64bits(v))
}

// AppendFloat32 appends a single-precision number.
func AppendFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, codeFloat32), math.Float32bits(v))
}

// AppendString appends text. The bytes are written unchanged, UTF-8 or not. A string of 4
// GiB or more can't be represented in MessagePack and must not be passed.
func AppendString(dst []byte, v string) []byte {
	return append(AppendStringLen(dst, len(v)), v...)
}

// AppendStringLen appends the head of a string whose n bytes the caller appends.
func AppendStringLen(dst []byte, n int) []byte {
	switch {
	case n < 32:
		return append(dst, fixStr|byte(n))
	case n <= math.MaxUint8:
		return append(dst, codeStr8, byte(n))
	case n <= math.MaxUint16:
		return append(dst, codeStr16, byte(n>>8), byte(n))
	}
	return append(dst, codeStr32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendBytes appends binary data, with the same bound as AppendString.
func AppendBytes(dst, v []byte) []byte {
	return append(AppendBytesLen(dst, len(v)), v...)
}

// AppendBytesLen appends the head of binary data whose n bytes the caller appends.
func AppendBytesLen(dst []byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, codeBin8, byte(n))
	case n <= math.MaxUint16:
		return append(dst, codeBin16, byte(n>>8), byte(n))
	}
	return append(dst, codeBin32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendArrayLen appends the head of an array whose n values the caller appends.
func AppendArrayLen(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, fixArray|byte(n))
	case n <= math.MaxUint16:
		return append(dst, codeArray16, byte(n>>8), byte(n))
	}
	return append(dst, codeArray32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendMapLen appends the head of a map whose n pairs, key before value, the caller
// appends.
func AppendMapLen(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, fixMap|byte(n))
	case n <= math.MaxUint16:
		return append(dst, codeMap16, byte(n>>8), byte(n))
	}
	return append(dst, codeMap32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// AppendEventTime appends a time as Fluentd's EventTime: extension type 0 with unsigned
// seconds since 1970 and nanoseconds, always ten bytes. A time out of range
// becomes the nearest one in range: the start of 1970, or the last nanosecond of the 32-bit
// seconds, in February 2106.
func AppendEventTime(dst []byte, t time.Time) []byte {
	sec, nsec := t.Unix(), uint32(t.Nanosecond())
	if sec < 0 {
		sec, nsec = 0, 0
	} else if sec > math.MaxUint32 {
		sec, nsec = math.MaxUint32, 999_999_999
	}
	return append(dst, codeFixExt8, 0,
		byte(sec>>24), byte(sec>>16), byte(sec>>8), byte(sec),
		byte(nsec>>24), byte(nsec>>16), byte(nsec>>8), byte(nsec))
}
