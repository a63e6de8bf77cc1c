package disk

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// sumBytes is the length of one sum in a value.
const sumBytes = 8

// sums adds lists of numbers, little-endian 64 bits each, position by position. Its name is
// stored in every directory and can't change.
var sums = &pebble.Merger{
	Name: "kasoku.sums",
	Merge: func(_, value []byte) (pebble.ValueMerger, error) {
		s := &sum{}
		return s, s.add(value)
	},
}

type sum struct{ text []byte }

func (s *sum) add(value []byte) error {
	if len(value)%sumBytes != 0 {
		return fmt.Errorf("a sum of %d bytes", len(value))
	}
	for len(s.text) < len(value) {
		s.text = append(s.text, 0)
	}
	for i := 0; i < len(value); i += sumBytes {
		n := binary.LittleEndian.Uint64(s.text[i:]) + binary.LittleEndian.Uint64(value[i:])
		binary.LittleEndian.PutUint64(s.text[i:], n)
	}
	return nil
}

// MergeNewer and MergeOlder are the same, since the order does not matter for a sum.
func (s *sum) MergeNewer(value []byte) error { return s.add(value) }

// MergeOlder is MergeNewer.
func (s *sum) MergeOlder(value []byte) error { return s.add(value) }

// Finish returns the sum.
func (s *sum) Finish(bool) ([]byte, io.Closer, error) { return s.text, nil, nil }

// Sums reads the sums under key into dst. Sums that were never added to are zero.
func Sums(r Reader, key []byte, dst []int64) error {
	clear(dst)
	v, ok, err := r.Get(key)
	if !ok || err != nil {
		return err
	}
	defer v.Close()
	for i := range min(len(dst), len(v.Bytes)/sumBytes) {
		dst[i] = int64(binary.LittleEndian.Uint64(v.Bytes[i*sumBytes:]))
	}
	return nil
}
