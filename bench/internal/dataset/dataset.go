// Package dataset makes the items that the benchmarks read and write. An item is computed
// from its number, so that the origin, the floor and the checks of answers agree on it
// without storing it.
package dataset

import (
	"strconv"
)

// PerPartition is the number of items in a partition: item i has partition key
// i/PerPartition and sort key i%PerPartition.
const PerPartition = 10

// BatchSize is the number of keys in a measured BatchGetItem.
const BatchSize = 25

// Set is a table of items. The attribute with most of the data has between Min and Max
// bytes, depending on the item's number.
type Set struct {
	Table    string
	Min, Max int
}

var (
	// Even is the table for comparing peers: all answers have the same length, so that the
	// floor can send it without reading the key.
	Even = Set{Table: "bench", Min: 400, Max: 400}
	// Mixed is the table for measuring the cost by size: items of about 170 to 1,070 bytes.
	Mixed = Set{Table: "mixed", Min: 100, Max: 1000}
)

const textLen = 4096

// text is the source of the large attributes.
var text = func() (t [textLen]byte) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	state := uint64(1)
	for i := range t {
		state = state*6364136223846793005 + 1442695040888963407
		t[i] = letters[state>>58]
	}
	return t
}()

func hash(i int) uint64 {
	h := (uint64(i) + 1) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// BulkLen returns the length of item i's large attribute.
func (s Set) BulkLen(i int) int {
	return s.Min + int(hash(i)%uint64(s.Max-s.Min+1))
}

func (s Set) bulk(i int) []byte {
	n := s.BulkLen(i)
	start := int(hash(i) >> 40 % uint64(textLen-s.Max))
	return text[start : start+n]
}

// AppendKey appends the key of item i: {"pk":{"S":"p00000012"},"sk":{"S":"s3"}}.
func AppendKey(dst []byte, i int) []byte {
	dst = append(dst, `{"pk":{"S":"`...)
	dst = AppendPartition(dst, i)
	dst = append(dst, `"},"sk":{"S":"s`...)
	return append(dst, byte('0'+i%PerPartition), '"', '}', '}')
}

// AppendPartition appends the partition key of item i.
func AppendPartition(dst []byte, i int) []byte {
	dst = append(dst, 'p')
	return appendPadded(dst, i/PerPartition)
}

// AppendItem appends item i.
func (s Set) AppendItem(dst []byte, i int) []byte {
	dst = AppendKey(dst, i)
	dst = dst[:len(dst)-1]
	dst = append(dst, `,"n":{"N":"`...)
	dst = strconv.AppendInt(dst, int64(100_000_000+i), 10)
	dst = append(dst, `"},"bulk":{"S":"`...)
	dst = append(dst, s.bulk(i)...)
	return append(dst, `"}}`...)
}

// ItemLen returns the length of AppendItem's text.
func (s Set) ItemLen(i int) int { return itemRest + s.BulkLen(i) }

// KeyLen is the number of bytes of an item's key values.
const KeyLen = len("p00000012") + len("s3")

var itemRest = func() int {
	s := Set{Min: 1, Max: 1}
	return len(s.AppendItem(nil, 0)) - 1
}()

func appendPadded(dst []byte, n int) []byte {
	var digits [8]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, digits[:]...)
}

// Keys finds all keys in a request's body, in any order of the JSON members: a partition key
// is any string of p and 8 digits, a sort key any string of s and one digit. For each pair
// it appends the number of the item; a partition key without a sort key counts as sort key
// 0.
func Keys(dst []int, body []byte) []int {
	partition, sort := -1, -1
	for i := 0; i+3 < len(body); i++ {
		if body[i] != '"' {
			continue
		}
		switch {
		case body[i+1] == 's' && body[i+3] == '"' && isDigit(body[i+2]):
			sort = int(body[i+2] - '0')
			i += 3
		case body[i+1] == 'p' && i+10 < len(body) && body[i+10] == '"' && allDigits(body[i+2:i+10]):
			partition, _ = strconv.Atoi(string(body[i+2 : i+10]))
			i += 10
		default:
			continue
		}
		if partition >= 0 && sort >= 0 {
			dst = append(dst, partition*PerPartition+sort)
			partition, sort = -1, -1
		}
	}
	if partition >= 0 {
		dst = append(dst, partition*PerPartition)
	}
	return dst
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func allDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
	}
	return true
}
