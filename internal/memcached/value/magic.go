package value

import "unicode/utf8"

// The sizes of the shortest streams.
const (
	minGzip = 18 // header of 10, empty block of at least 2 (encoders write no less), checksum and length
	minZlib = 8
	minZstd = 9
)

// sniff returns the coding by the first bytes of data.
func sniff(data []byte) Coding {
	switch {
	case len(data) >= minGzip && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8 && data[3]&0xe0 == 0:
		return Gzip
	case len(data) >= minZstd && string(data[:4]) == "\x28\xb5\x2f\xfd":
		return Zstd
	case len(data) >= minZlib && zlibHeader(data[0], data[1]):
		return Zlib
	}
	return Identity
}

// zlibHeader reports whether the bytes begin a stream of zlib (RFC 1950, section 2.2) with
// the window that all writers use, and without a dictionary.
func zlibHeader(method, flags byte) bool {
	return method == 0x78 && (uint(method)<<8|uint(flags))%31 == 0 && flags&0x20 == 0
}

// text reports whether data begins with valid UTF-8. The letter x with some next characters
// is a header of zlib too, but compressed data is not valid UTF-8 for long.
func text(data []byte) bool {
	const enough = 32
	if len(data) <= enough {
		return utf8.Valid(data)
	}
	cut := enough
	for cut > enough-utf8.UTFMax && !utf8.RuneStart(data[cut]) {
		cut--
	}
	return utf8.Valid(data[:cut])
}
