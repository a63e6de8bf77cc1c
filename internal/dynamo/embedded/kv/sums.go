package kv

import (
	"encoding/binary"
	"fmt"
)

// Sums are two numbers under one key, to which batches add without reading them.
type Sums [2]int64

// sumBytes is the length of one sum in a value.
const sumBytes = 8

// AppendTo appends the stored form: little-endian, 64 bits each.
func (s Sums) AppendTo(dst []byte) []byte {
	for _, n := range s {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
	}
	return dst
}

// AddStored adds the sums in stored to those in dst, position by position, and returns dst,
// which is extended if it is shorter.
func AddStored(dst, stored []byte) ([]byte, error) {
	for _, sums := range [][]byte{dst, stored} {
		if len(sums)%sumBytes != 0 {
			return dst, fmt.Errorf("sums of %d bytes", len(sums))
		}
	}
	for len(dst) < len(stored) {
		dst = append(dst, 0)
	}
	for i := 0; i < len(stored); i += sumBytes {
		n := binary.LittleEndian.Uint64(dst[i:]) + binary.LittleEndian.Uint64(stored[i:])
		binary.LittleEndian.PutUint64(dst[i:], n)
	}
	return dst, nil
}

// ReadSums returns the sums under key. Sums that were never added to are zero.
func ReadSums(r Reader, key []byte) (s Sums, err error) {
	v, ok, err := r.Get(key)
	if !ok || err != nil {
		return s, err
	}
	defer v.Close()
	for i := range min(len(s), len(v.Bytes)/sumBytes) {
		s[i] = int64(binary.LittleEndian.Uint64(v.Bytes[i*sumBytes:]))
	}
	return s, nil
}
