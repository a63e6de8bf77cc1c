package disk

import (
	"bytes"
	"testing"
)

func FuzzHead(f *testing.F) {
	for _, h := range []head{
		{name: 1, length: 1},
		{name: 1<<64 - 1, length: maxBodyLength, made: -1, stale: true, key: []byte("http://h/a"), meta: []byte{0, 1, 2}},
	} {
		f.Add(h.encode())
	}
	f.Add([]byte(headMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHead(b)
		if err != nil {
			return
		}
		if again := h.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x was encoded as %x", b, again)
		}
	})
}

func TestNames(t *testing.T) {
	for _, n := range []name{0, 1, 0xfedcba9876543210, 1<<64 - 1} {
		for _, ending := range []string{bodyEnding, headEnding, tempEnding} {
			if got, e, ok := parseName(n.String() + ending); !ok || got != n || e != ending {
				t.Errorf("parsing %s%s: got %s%s, %v", n, ending, got, e, ok)
			}
		}
	}
}
