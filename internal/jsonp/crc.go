package jsonp

// A CRC-32 (the one of gzip) is a polynomial over GF(2) modulo ieee, with its highest power
// in the lowest bit. The CRC of two concatenated texts is the first CRC times x^(8*length of
// the second), plus the second CRC. The multiplication takes 32 steps for texts of any
// length.
const ieee = 0xedb88320

// shift returns x^(8n), the factor for a CRC that n bytes follow.
func shift(n int64) uint32 {
	r, x := uint32(1)<<31, uint32(1)<<30
	for e := uint64(n) * 8; e > 0; e >>= 1 {
		if e&1 != 0 {
			r = multiply(r, x)
		}
		x = multiply(x, x)
	}
	return r
}

func multiply(a, b uint32) uint32 {
	p := uint32(0)
	for m := uint32(1) << 31; m != 0; m >>= 1 {
		if a&m != 0 {
			p ^= b
		}
		low := b & 1
		b = b>>1 ^ ieee&-low
	}
	return p
}
