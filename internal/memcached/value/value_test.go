package value

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const limit = 8 << 20

var long = strings.Repeat(`{"status":"success","count":1000}, `, 200)

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zlibbed(s string) string { return zlibbedAt(s, zlib.DefaultCompression) }

func zlibbedAt(s string, level int) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, level)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func zstded(s string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte(s), nil))
}

// php prepends the length that php-memcached stores before compressed data.
func php(length int, packed string) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(length))) + packed
}

func profile(t testing.TB, name string) Profile {
	t.Helper()
	p, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestServable checks the coding and the text of values that can be sent, in every profile.
func TestServable(t *testing.T) {
	f := func(name string, flags uint32, data string, coding Coding, want string) {
		t.Helper()
		v, reason := profile(t, name).Inspect(flags, []byte(data))
		if reason != OK || v.Coding != coding {
			t.Fatalf("Inspect(%s, %#x): got %v, %v; want %v", name, flags, reason, v.Coding, coding)
		}
		if v.Length >= 0 && v.Length != int64(len(want)) {
			t.Fatalf("%s, %#x: length %d, want %d", name, flags, v.Length, len(want))
		}
		if coding == Identity && string(v.Body) != want {
			t.Fatalf("%s, %#x: body %q", name, flags, v.Body)
		}
		got, err := v.AppendPlain([]byte("before "), limit)
		if err != nil || string(got) != "before "+want {
			t.Fatalf("%s, %#x: got %q, %v; want %q", name, flags, got, err, want)
		}
	}

	f("raw", 0, `{"a":1}`, Identity, `{"a":1}`)
	f("", 0, "", Identity, "")
	f("raw", 12345, "any flags", Identity, "any flags")
	f("raw", 0, gzipped(long), Gzip, long)
	f("raw", 0, zlibbed(long), Zlib, long)
	f("raw", 0, zstded(long), Zstd, long)
	f("raw", 0, "x^2 + y^2 = z^2, of which all know", Identity, "x^2 + y^2 = z^2, of which all know")
	f("raw", 0, "x^2 + y^2", Identity, "x^2 + y^2")
	f("raw", 0, "x\u0681", Identity, "x\u0681")
	for at := range 4 { // the inspected part ends within a letter, or between two
		s := "x^2, which is long enough" + strings.Repeat(".", at) + "数字数字"
		f("raw", 0, s, Identity, s)
	}
	f("raw", 0, "\x1f\x8b\x08", Identity, "\x1f\x8b\x08")
	f("raw", 0, "\x1f\x8b\x08\xff of no gzip that there is", Identity, "\x1f\x8b\x08\xff of no gzip that there is")
	f("raw", 0, "\x78\xbb of a zlib with a dictionary", Identity, "\x78\xbb of a zlib with a dictionary")
	f("bytes", 2, gzipped(long), Identity, gzipped(long))
	f("bytes", 0, zlibbed(long), Identity, zlibbed(long))

	f("cmf", 0, "plain", Identity, "plain")
	f("cmf", 4, "größer", Identity, "größer")
	f("cmf", 2, gzipped(long), Gzip, long)
	f("cmf", 6, gzipped(long), Gzip, long)
	f("cmf", 2, zlibbed(long), Zlib, long)
	f("cmf", 2, zstded(long), Zstd, long)
	f("cmf", 0, gzipped(long), Gzip, long)
	f("perl", 0, "plain", Identity, "plain")
	f("perl", 2, gzipped(long), Gzip, long)

	f("pecl", 0, "plain", Identity, "plain")
	f("pecl", 2, zlibbed(long), Zlib, long)
	f("pecl", 0x10002, zlibbed(long), Zlib, long)
	f("pecl", 0x100, "1", Identity, "true")
	f("pecl", 0x100, "0", Identity, "false")
	f("pecl", 0x300, "-17", Identity, "-17")
	f("pecl", 0x700, "1.0e+25", Identity, "1.0e+25")

	f("php", 0, "plain", Identity, "plain")
	f("php", 7<<16, "the application's flags", Identity, "the application's flags")
	f("php", 1, "1000", Identity, "1000")
	f("php", 1, "99  ", Identity, "99")
	f("php", 2, "10.5", Identity, "10.5")
	f("php", 2, ".1", Decimal, "0.1")
	f("php", 2, "-.25", Decimal, "-0.25")
	f("php", 2, "1e+25", Identity, "1e+25")
	f("php", 3, "1", Identity, "true")
	f("php", 3, "", Identity, "false")
	f("php", 6, `{"a":1}`, Identity, `{"a":1}`)
	f("php", 0x30, php(len(long), zlibbed(long)), Zlib, long)
	f("php", 0x36, php(len(long), zlibbed(long)), Zlib, long)
	ambiguous := strings.Repeat("x", 0x9c78) // whose length begins as zlib does
	f("php", 0x30, php(len(ambiguous), zlibbed(ambiguous)), Zlib, ambiguous)
	f("php", 0x90, php(len(long), zstded(long)), Zstd, long)
	f("php", 0x50, stored(t, "php-fastlz1.bin"), FastLZ, shortText())
	f("php", 0x50, stored(t, "php-fastlz2.bin"), FastLZ, longText())
	f("php", 0x10, zlibbed(long), Zlib, long)
	f("php", 0x10, php(len(long), zlibbed(long)), Zlib, long)

	f("pylibmc", 0, "bytes", Identity, "bytes")
	f("pylibmc", 16, "text", Identity, "text")
	f("pylibmc", 2, "1", Identity, "1")
	f("pylibmc", 4, "123456789012345678901234567890", Identity, "123456789012345678901234567890")
	f("pylibmc", 8, zlibbed(long), Zlib, long)
	f("pylibmc", 24, zlibbed(long), Zlib, long)
	f("pylibmc", 8, gzipped(long), Gzip, long)
	f("python-memcached", 16, "text", Identity, "text")
	f("pymemcache", 2, "-5", Identity, "-5")
	f("pymemcache", 24, zlibbed(long), Zlib, long)

	f("dalli", 0, "raw: true", Identity, "raw: true")
	f("dalli", 2, zlibbed(long), Zlib, long)
	f("dalli", 2, gzipped(long), Gzip, long)

	f("spymemcached", 0, "plain", Identity, "plain")
	f("spymemcached", 2, gzipped(long), Gzip, long)
	f("spymemcached", 0x100, "1", Identity, "true")
	f("spymemcached", 0x100, "0", Identity, "false")
	f("spymemcached", 0x200, "", Decimal, "0")
	f("spymemcached", 0x200, "\x03\xe8", Decimal, "1000")
	f("spymemcached", 0x200, "\xff\xff\xff\xfe", Decimal, "-2")
	f("spymemcached", 0x300, "\xff\xff\xff\xfe", Decimal, "4294967294")
	f("spymemcached", 0x300, "\x80\x00\x00\x00\x00\x00\x00\x00", Decimal, "-9223372036854775808")
	f("spymemcached", 0x500, "\xff", Decimal, "-1")
	f("spymemcached", 0x800, "bytes", Identity, "bytes")
}

// TestRefused checks values that Inspect refuses.
func TestRefused(t *testing.T) {
	f := func(name string, flags uint32, data string, want Reason) {
		t.Helper()
		if _, got := profile(t, name).Inspect(flags, []byte(data)); got != want {
			t.Fatalf("Inspect(%s, %#x, %q): got %v, want %v", name, flags, data, got, want)
		}
	}

	f("cmf", 1, "\x04\x0b\x0812345678", Serialised)
	f("cmf", 3, gzipped(long), Serialised)
	f("cmf", 2, "no gzip", Corrupt)
	f("cmf", 2, "", Corrupt)
	f("cmf", 8, "a Python's", Unknown)
	f("perl", 1, "", Serialised)
	f("perl", 4, "", Unknown)

	f("pecl", 1, "a:0:{}", Serialised)
	f("pecl", 3, zlibbed("a:0:{}"), Serialised)
	f("pecl", 0x200, "1", Unknown)
	f("pecl", 0x300, "1e", Unknown)
	f("pecl", 0x700, "inf", Unknown)
	f("pecl", 0x302, zlibbed("1"), OK)
	f("pecl", 0x102, zlibbed("1"), Unknown)
	f("pecl", 0x100, "2", Corrupt)

	for _, kind := range []uint32{4, 5, 7} {
		f("php", kind, "a:0:{}", Serialised)
		f("php", 0x50|kind, "a:0:{}", Serialised)
	}
	f("php", 8, "", Unknown)
	f("php", 0x100, "", Unknown)
	f("php", 2, "Infinity", Unknown)
	f("php", 2, ".", Unknown)
	f("php", 2, "-", Unknown)
	f("php", 2, "", Unknown)
	f("php", 1, "007", Unknown)
	f("php", 3, "true", Corrupt)
	f("php", 0x30, "", Corrupt)
	f("php", 0x30, "\x01\x00\x00\x00", Corrupt)
	f("php", 0x30, php(5, "plain"), Corrupt)
	f("php", 0x10, "plain", Corrupt)

	f("pylibmc", 1, "\x80\x04]\x94.", Serialised)
	f("pylibmc", 9, zlibbed("\x80\x04]\x94."), Serialised)
	f("pylibmc", 4, "12L", Unknown)
	f("pylibmc", 32, "", Unknown)
	f("pylibmc", 8, "plain", Corrupt)
	f("dalli", 1, "\x04\bI\"\x06a\x06:\x06ET", Serialised)
	f("dalli", 3, zlibbed("\x04\b["), Serialised)
	f("spymemcached", 1, "\xac\xed\x00\x05", Serialised)
	f("spymemcached", 0x400, "", Serialised)
	f("spymemcached", 0x700, "12345678", Serialised)
	f("spymemcached", 0x900, "", Unknown)
	f("spymemcached", 0x200, "12345", Corrupt)
	f("spymemcached", 0x202, gzipped("1"), Unknown)
}

// TestUndecodable checks values whose errors are detected only by decoding them.
func TestUndecodable(t *testing.T) {
	f := func(name string, flags uint32, data string, limit int64, want error) {
		t.Helper()
		v, reason := profile(t, name).Inspect(flags, []byte(data))
		if reason != OK {
			t.Fatalf("Inspect(%s, %#x): %v", name, flags, reason)
		}
		got, err := v.AppendPlain([]byte("before"), limit)
		if !errors.Is(err, want) || string(got) != "before" {
			t.Fatalf("%s, %#x: got %q, %v; want %v", name, flags, got, err, want)
		}
		if v.Coding == Zlib && limit > int64(len(long)) {
			if _, ok := v.AppendGzip(nil); ok {
				t.Fatalf("%s, %#x: framed as gzip", name, flags)
			}
		}
	}
	spoilt := func(s string, at int) string {
		b := []byte(s)
		b[(at+len(b))%len(b)] ^= 0x55
		return string(b)
	}

	f("raw", 0, "too long", 7, ErrTooLarge)
	f("cmf", 2, gzipped(long), int64(len(long))-1, ErrTooLarge)
	f("pylibmc", 8, zlibbed(long), int64(len(long))-1, ErrTooLarge)
	f("raw", 0, zstded(long), int64(len(long))-1, ErrTooLarge)
	f("php", 0x30, php(len(long), zlibbed(long)), int64(len(long))-1, ErrTooLarge)
	f("php", 0x50, php(-1, stored(t, "php-fastlz1.bin")[4:]), limit, ErrTooLarge)
	f("spymemcached", 0x200, "\x03\xe8", 3, ErrTooLarge)

	for _, packed := range []string{gzipped(long), zlibbed(long), zstded(long)} {
		f("raw", 0, packed[:len(packed)-1], limit, ErrCorrupt)
		f("raw", 0, packed[:len(packed)/2], limit, ErrCorrupt)
		f("raw", 0, packed+"more", limit, ErrCorrupt)
		f("raw", 0, spoilt(packed, -2), limit, ErrCorrupt)
	}
	f("php", 0x30, php(len(long)-1, zlibbed(long)), limit, ErrCorrupt)
	f("php", 0x30, php(len(long)+1, zlibbed(long)), limit, ErrCorrupt)
	for _, name := range []string{"php-fastlz1.bin", "php-fastlz2.bin"} {
		packed := stored(t, name)[4:]
		whole := int(binary.LittleEndian.Uint32([]byte(stored(t, name))))
		f("php", 0x50, php(whole-1, packed), limit, ErrCorrupt)
		f("php", 0x50, php(whole+1, packed), limit, ErrCorrupt)
		for cut := range packed[:len(packed)-1] {
			f("php", 0x50, php(whole, packed[:cut+1]), limit, ErrCorrupt)
		}
	}
}

// A value that was cut anywhere and was not inspected is an error, or empty.
func TestCutAnywhere(t *testing.T) {
	f := func(coding Coding, packed string) {
		t.Helper()
		for n := range len(packed) {
			v := Value{Body: []byte(packed[:n]), Coding: coding, Length: -1}
			if got, err := v.AppendPlain(nil, limit); err == nil && len(got) > 0 {
				t.Fatalf("%v: %d of %d bytes were decoded to %q, want an error", coding, n, len(packed), got)
			}
			if _, ok := v.AppendGzip(nil); ok && coding != Gzip {
				t.Fatalf("%v: %d of %d bytes are framed as gzip", coding, n, len(packed))
			}
		}
	}
	f(Gzip, gzipped("a few words"))
	f(Zlib, zlibbed("a few words"))
	f(Zstd, zstded("a few words"))
	f(FastLZ, stored(t, "php-fastlz1.bin")[phpPrefix:])
}

// An excessive expansion is an error.
func TestRatio(t *testing.T) {
	f := func(text string, want error) {
		t.Helper()
		size := len(text)
		for _, packed := range []string{gzipped(text), zlibbed(text), zstded(text)} {
			v, reason := Raw.Inspect(0, []byte(packed))
			if reason != OK {
				t.Fatal(reason)
			}
			if _, err := v.AppendPlain(nil, limit); !errors.Is(err, want) {
				t.Errorf("%v: %d bytes from %d: got %v, want %v", v.Coding, size, len(packed), err, want)
			}
			if _, ok := v.AppendGzip(nil); v.Coding == Zlib && ok != (want == nil) {
				t.Errorf("zlib: %d bytes from %d: framed as gzip: %v", size, len(packed), ok)
			}
		}
	}
	f(strings.Repeat("0", free), nil)
	f(strings.Repeat("0", free+1), ErrTooLarge)
	var digits strings.Builder
	for i := range free / 4 {
		fmt.Fprintf(&digits, "%08x", uint64(i)*0x9e3779b1)
	}
	f(digits.String(), nil)
}

// The gzip form of a value decodes to the value.
func TestAppendGzip(t *testing.T) {
	f := func(name string, flags uint32, data string, want bool) {
		t.Helper()
		v, reason := profile(t, name).Inspect(flags, []byte(data))
		if reason != OK {
			t.Fatal(reason)
		}
		got, ok := v.AppendGzip([]byte("before"))
		if ok != want {
			t.Fatalf("%s, %#x: has a gzip form: %v, want %v", name, flags, ok, want)
		}
		if !ok {
			if string(got) != "before" {
				t.Fatalf("%s, %#x: dst is %q", name, flags, got)
			}
			return
		}
		r, err := gzip.NewReader(bytes.NewReader(got[len("before"):]))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(r)
		if err != nil || string(plain) != long {
			t.Fatalf("%s, %#x: %d bytes, %v", name, flags, len(plain), err)
		}
	}
	f("cmf", 2, gzipped(long), true)
	for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
		f("pylibmc", 24, zlibbedAt(long, level), true)
	}
	f("php", 0x30, php(len(long), zlibbed(long)), true)
	f("raw", 0, long, false)
	f("raw", 0, zstded(long), false)
	f("spymemcached", 0x200, "\x01", false)
}

func TestProfiles(t *testing.T) {
	for _, name := range Profiles() {
		p := profile(t, name)
		if !slices.Contains(names[p], name) {
			t.Errorf("Parse(%q) = %v", name, p)
		}
		if v, reason := p.Inspect(p.Flags(), []byte("text")); reason != OK || string(v.Body) != "text" {
			t.Errorf("%s can't read a value with its own flags: %v", name, reason)
		}
	}
	if len(names) != len(layouts) {
		t.Error("a profile has no layout")
	}
	if _, err := Parse("memcache"); err == nil || !strings.Contains(err.Error(), "pylibmc") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestReasons(t *testing.T) {
	for r, want := range []string{"ok", "serialised", "corrupt", "too-large", "unknown-flags"} {
		if got := Reason(r).String(); got != want {
			t.Errorf("Reason(%d) is %q, want %q", r, got, want)
		}
	}
	if ReasonOf(nil) != OK || ReasonOf(ErrCorrupt) != Corrupt || ReasonOf(ErrTooLarge) != TooLarge {
		t.Error("ReasonOf returned another reason")
	}
}
