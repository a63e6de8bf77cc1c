package cbor

import (
	"bytes"
	"strings"
	"testing"
)

// TestScanner passes each message byte by byte: its end is found exactly with its last byte,
// and the minimum length is never too large.
func TestScanner(t *testing.T) {
	for _, c := range []struct {
		items int
		in    string
	}{
		{1, "00"},
		{3, "01 1a0fb0cc6a 4454616231"},
		{5, "67 4a37796e653547 00 61 30 a1 69 557365724167656e74 73 446178476f5632436c69656e742d312e302e33 00"},
		{2, "bf 03 00 ff 80"},
		{1, "9f bf 01 9f ff ff 80 a0 d90cf9 81 60 ff"},
		{1, "58190000000000000000000000000000000000000000000000000000"[:4+50]},
		{2, "fb3ff199999999999a f6"},
		{0, ""},
	} {
		in := unhex(t, c.in)
		var s Scanner
		s.Begin(c.items)
		for n := range in {
			end, whole, err := s.Scan(in[:n])
			if whole || err != nil {
				t.Fatalf("%s: after %d bytes: complete %v, error %v", c.in, n, whole, err)
			}
			if end <= n || end > len(in) {
				t.Fatalf("%s: after %d bytes: a minimum length of %d is reported", c.in, n, end)
			}
		}
		end, whole, err := s.Scan(append(in, 0xff, 0xff))
		if !whole || err != nil || end != len(in) {
			t.Errorf("%s: got end %d, complete %v, error %v", c.in, end, whole, err)
		}
	}
}

func TestScannerRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"ff", errBreak.text},
		{"81ff", errBreak.text},
		{"bf01ff", errBreak.text},
		{"d901ffff", errBreak.text},
		{"f7", errUnknown.text},
		{"f90000", errUnknown.text},
		{"7f6161ff", errUnknown.text},
		{"5b7fffffffffffffff", errTooLong.text},
		{"9bffffffffffffffff", errTooLong.text},
		{"bbffffffffffffffff", errTooLong.text},
		{strings.Repeat("81", MaxDepth) + "00", errTooDeep.text},
		{strings.Repeat("9f", MaxDepth), errTooDeep.text},
		{strings.Repeat("c1", MaxDepth), errTooDeep.text},
	} {
		var s Scanner
		s.Begin(1)
		if _, whole, err := s.Scan(unhex(t, c.in)); whole || err == nil || err.Error() != c.want {
			t.Errorf("%s: got complete %v, error %v, want %s", c.in, whole, err, c.want)
		}
	}
	deep := unhex(t, strings.Repeat("81", MaxDepth-1)+"00")
	var s Scanner
	s.Begin(1)
	if _, whole, err := s.Scan(deep); !whole || err != nil {
		t.Errorf("%d levels: complete %v, error %v", MaxDepth, whole, err)
	}
}

// FuzzScanner compares the two readers: a message that one considers complete can be decoded
// by the other, except for the UTF-8 of texts and the depth. The scanner has the same result
// for a message in pieces.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{"00", "8201f6", "bf01420304ff", "c48221 19013a", "9f9fff6161ff", "d90cf9816161", "9b0000010000000000", "fb3ff199999999999a"} {
		f.Add(unhex(f, seed), 1)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		var s Scanner
		s.Begin(1)
		end, whole, err := s.Scan(in)
		var parts Scanner
		parts.Begin(1)
		if cut >= 0 && cut < len(in) {
			_, wholePart, errPart := parts.Scan(in[:cut])
			if wholePart && !(whole && end <= cut) || errPart != nil && err == nil {
				t.Fatalf("the first %d bytes: complete %v, error %v; all: complete %v, error %v", cut, wholePart, errPart, whole, err)
			}
			if !wholePart && errPart == nil {
				e, w, er := parts.Scan(in)
				if e != end || w != whole || (er == nil) != (err == nil) {
					t.Fatalf("in two pieces: %d %v %v; in one: %d %v %v", e, w, er, end, whole, err)
				}
			}
		}
		if err == errTooDeep {
			return // the depth is limited by the caller
		}
		r := NewReader(in)
		show(&r)
		read := len(in) - len(r.Rest())
		switch {
		case r.Err() == nil && (!whole || read != end):
			t.Fatalf("the reader read %d bytes, the scanner found %d, %v, %v", read, end, whole, err)
		case whole && r.Err() != nil && r.Err().Error() != "a text is not UTF-8":
			t.Fatalf("the message is complete, but the reader returned %v", r.Err())
		}
		if whole {
			again := NewReader(in)
			if raw := again.Raw(); !bytes.Equal(raw, in[:end]) {
				t.Fatalf("Raw returned %x", raw)
			}
		}
	})
}
