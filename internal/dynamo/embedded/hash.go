package embedded

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// serviceHash returns the number by which the service orders keys: partitions in a scan and,
// in an index, items with the same index key. It is a prefix of an MD5 of the concatenated
// values, so that scans, segments and ties have the same order here as in the service. (It
// is not used for security.)
func serviceHash(key ...*value.Value) uint64 {
	var buf [256]byte
	text := append(buf[:0], "Outliers"...)
	for _, v := range key {
		if v.Type == value.Number {
			text = appendPacked(text, v.Text)
		} else {
			text = append(text, v.Text...)
		}
	}
	sum := md5.Sum(text)
	return binary.BigEndian.Uint64(sum[:])
}

const (
	packedZero   = 0x80
	packedEnd    = 102 // ends negative numbers of fewer bytes than the maximum:
	packedLength = 20
)

// appendPacked appends a number, given in normalized form, as the service packs it: the
// power of 100, then a byte for each two digits.
func appendPacked(dst, number []byte) []byte {
	digits, negative := bytes.CutPrefix(number, []byte{'-'})
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	exponent := len(whole) // power of ten, of a number that is below 1 without it
	var buf [64]byte
	all := append(append(buf[:0], whole...), fraction...)
	significant := bytes.TrimLeft(all, "0")
	exponent -= len(all) - len(significant)
	if significant = bytes.TrimRight(significant, "0"); len(significant) == 0 {
		return append(dst, packedZero)
	}
	odd := exponent & 1
	first := byte((exponent+odd)/2 - 64)
	if negative {
		first = ^first
	}
	dst = append(dst, first)
	bytesUsed := 0
	for i := -odd; i < len(significant); i += 2 {
		pair := byte(0)
		if i >= 0 {
			pair = 10 * (significant[i] - '0')
		}
		if i+1 < len(significant) {
			pair += significant[i+1] - '0'
		}
		if negative {
			dst = append(dst, 101-pair)
		} else {
			dst = append(dst, pair+1)
		}
		bytesUsed++
	}
	if negative && bytesUsed < packedLength {
		dst = append(dst, packedEnd)
	}
	return dst
}
