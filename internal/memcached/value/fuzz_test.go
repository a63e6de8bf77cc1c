package value

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// FuzzValue reads arbitrary items with every profile. No text may exceed the limit, and the
// gzip form must decode to the plain text.
func FuzzValue(f *testing.F) {
	for _, data := range []string{
		"", "text", "1", ".5", gzipped(long), zlibbed(long), zstded(long), php(len(long), zlibbed(long)), php(len(long), zstded(long)),
		stored(f, "php-fastlz1.bin"), stored(f, "php-fastlz2.bin"),
	} {
		for p := range names {
			for _, flags := range []uint32{0, 1, 2, 3, 8, 0x30, 0x50, 0x90, 0x200} {
				f.Add(uint8(p), flags, []byte(data), uint32(1<<20))
			}
		}
	}
	f.Fuzz(func(t *testing.T, p uint8, flags uint32, data []byte, limit uint32) {
		profile := Profile(int(p) % len(names))
		kept := bytes.Clone(data)
		v, reason := profile.Inspect(flags, data)
		if reason != OK {
			return
		}
		bound := int64(limit % (4 << 20))
		plain, err := v.AppendPlain([]byte("before"), bound)
		plain, found := bytes.CutPrefix(plain, []byte("before"))
		if !found || int64(len(plain)) > bound || err != nil && len(plain) > 0 {
			t.Fatalf("%v, %#x: %d bytes from %d with the limit %d, %v", profile, flags, len(plain), len(data), bound, err)
		}
		if err == nil && v.Length >= 0 && int64(len(plain)) != v.Length {
			t.Fatalf("%v, %#x: got %d bytes, want %d", profile, flags, len(plain), v.Length)
		}
		if err == nil {
			sameAsGzip(t, &v, plain)
		}
		if !bytes.Equal(data, kept) {
			t.Fatal("the item was changed")
		}
	})
}

// sameAsGzip checks that the gzip form of v decodes to plain.
func sameAsGzip(t *testing.T, v *Value, plain []byte) {
	packed, ok := v.AppendGzip(nil)
	if ok != (v.Coding == Gzip || v.Coding == Zlib) {
		t.Fatalf("%v as gzip: %v", v.Coding, ok)
	}
	if !ok {
		return
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
		t.Fatalf("%v as gzip decodes to %d bytes, %v; want %d", v.Coding, len(got), err, len(plain))
	}
}
