// Package hostile has inputs that announce a much larger length than they have, and measures
// the memory that their readers allocate.
package hostile

import (
	"bytes"
	"runtime"
	"testing"
)

// maxAllocated is how many bytes a reader may allocate for a truncated input.
const maxAllocated = 64 << 10

// heads are starts of CBOR items that announce a large length: 2^40 or 2^62 items or bytes
// of each kind with a length, and more nesting than any reader accepts.
var heads = [][]byte{
	{0x9b, 0, 0, 1, 0, 0, 0, 0, 0}, {0xbb, 0, 0, 1, 0, 0, 0, 0, 0}, {0x5b, 0, 0, 1, 0, 0, 0, 0, 0}, {0x7b, 0, 0, 1, 0, 0, 0, 0, 0},
	{0x9b, 0x40, 0, 0, 0, 0, 0, 0, 0}, {0xbb, 0x40, 0, 0, 0, 0, 0, 0, 0}, {0x5b, 0x40, 0, 0, 0, 0, 0, 0, 0}, {0x7b, 0x40, 0, 0, 0, 0, 0, 0, 0},
	{0x9a, 0xff, 0xff, 0xff, 0xff}, {0xba, 0xff, 0xff, 0xff, 0xff}, {0x5a, 0xff, 0xff, 0xff, 0xff}, {0x7a, 0xff, 0xff, 0xff, 0xff},
	{0xc2, 0x5b, 0, 0, 1, 0, 0, 0, 0, 0}, {0xc3, 0x5b, 0, 0, 1, 0, 0, 0, 0, 0}, // large integers
	{0xc4, 0x82, 0x1b, 0, 0, 1, 0, 0, 0, 0, 0, 1}, {0xc4, 0x82, 0x3b, 0, 0, 1, 0, 0, 0, 0, 0, 1}, // decimals of many digits
	{0xd9, 0x0c, 0xf9, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0}, {0xd9, 0x0c, 0xfa, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0}, {0xd9, 0x0c, 0xfb, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0}, // sets
	{0x1b, 0, 0, 1, 0, 0, 0, 0, 0}, {0x3b, 0, 0, 1, 0, 0, 0, 0, 0}, {0x19, 0xff, 0xf0}, {0x1a, 0, 0xff, 0xff, 0xf0}, // numbers
	bytes.Repeat([]byte{0x81}, 100), bytes.Repeat([]byte{0x9f}, 100), bytes.Repeat([]byte{0xbf, 0x00}, 100), bytes.Repeat([]byte{0xc4}, 100),
}

// Reads calls read with the heads, alone and after each of the prefixes, and fails the test
// if a call allocates too much. It calls read once before, so that permanent allocations do
// not count.
func Reads(t *testing.T, read func(b []byte), prefixes ...[]byte) {
	t.Helper()
	for _, prefix := range append(prefixes, nil) {
		for _, head := range heads {
			in := append(bytes.Clone(prefix), head...)
			read(in)
			if n := allocated(func() { read(in) }); n > maxAllocated {
				t.Errorf("%x: %d bytes are allocated, more than %d", in, n, maxAllocated)
			}
		}
	}
}

// allocated returns how many bytes the process allocates while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
