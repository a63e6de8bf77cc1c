package value

import "encoding/binary"

// Inspect classifies an item by its flags and data. The Value is valid only with OK. It
// allocates nothing and decodes nothing: a value whose flags and first bytes are right may
// still be corrupt.
func (p Profile) Inspect(flags uint32, data []byte) (Value, Reason) {
	kind, compressed, ok := layouts[p].read(flags)
	if !ok {
		return Value{}, Unknown
	}
	if kind == serialised {
		return Value{}, Serialised
	}
	if compressed {
		return p.compressed(kind, flags, data)
	}
	return p.uncompressed(kind, data)
}

// compressed returns a value whose flags mark it as compressed. Its first bytes decide how:
// some writers use the same flag for gzip, others for zlib, and most let the application
// choose.
func (p Profile) compressed(k kind, flags uint32, data []byte) (Value, Reason) {
	if k != str && k != json && k != number {
		return Value{}, Unknown
	}
	v := Value{Body: data, Length: -1}
	if p == PHP {
		return unwrap(v, flags)
	}
	if v.Coding = sniff(data); v.Coding == Identity {
		return Value{}, Corrupt
	}
	return v, OK
}

// phpPrefix is the size of the uncompressed length that php-memcached stores before
// compressed data: 32 bits, least significant byte first.
const phpPrefix = 4

// unwrap removes php-memcached's prefix and finds the coding. Its version 1, and HHVM's copy
// of that, store zlib without a prefix and without a bit for it.
func unwrap(v Value, flags uint32) (Value, Reason) {
	if flags&(phpZlib|phpFastLZ|phpZstd) == 0 && sniff(v.Body) == Zlib {
		v.Coding = Zlib
		return v, OK
	}
	if len(v.Body) <= phpPrefix {
		return Value{}, Corrupt
	}
	v.Length = int64(binary.LittleEndian.Uint32(v.Body))
	v.Body = v.Body[phpPrefix:]
	v.Coding = sniff(v.Body)
	if flags&phpFastLZ != 0 {
		v.Coding = FastLZ
	}
	if v.Coding == Identity {
		return Value{}, Corrupt
	}
	return v, OK
}

// uncompressed returns a value whose flags do not mark it as compressed.
func (p Profile) uncompressed(k kind, data []byte) (Value, Reason) {
	switch k {
	case boolean:
		return boolValue(data)
	case number:
		return decimalValue(data)
	case int8s:
		return integerValue(data, 8)
	case int32s:
		return integerValue(data, 32)
	case int64s:
		return integerValue(data, 64)
	}
	v := Value{Body: data, Length: int64(len(data))}
	if c := sniff(data); p != Bytes && c != Identity && !text(data) {
		v.Coding, v.Length = c, -1
	}
	return v, OK
}
