package cbor

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// show returns one item in CBOR's diagnostic notation.
func show(r *Reader) string {
	switch r.Kind() {
	case Uint, Negative:
		v, negative := r.Uint()
		if negative {
			return fmt.Sprintf("-1-%d", v)
		}
		return fmt.Sprint(v)
	case Bytes:
		return fmt.Sprintf("h'%x'", r.Bytes())
	case Text:
		return fmt.Sprintf("%q", r.Text())
	case Array:
		n := r.Array()
		return "[" + showAll(r, n, show) + "]"
	case Map:
		n := r.Map()
		return "{" + showAll(r, n, func(r *Reader) string { return show(r) + ": " + show(r) }) + "}"
	case Tag:
		return fmt.Sprintf("%d(%s)", r.Tag(), show(r))
	case False, True:
		return fmt.Sprint(r.Bool())
	case Double:
		return fmt.Sprintf("%gd", r.Double())
	case Null:
		r.Null()
		return "null"
	}
	r.Fail("%s where an item is expected", r.Kind())
	return ""
}

func showAll(r *Reader, n int, one func(*Reader) string) string {
	var parts []string
	for r.More(&n) {
		parts = append(parts, one(r))
	}
	return strings.Join(parts, ", ")
}

func TestReader(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"00", "0"},
		{"17", "23"},
		{"1818", "24"},
		{"19ffff", "65535"},
		{"1a58c2336b", "1489122155"},
		{"3a2c43e27e", "-1-742646398"},
		{"3bffffffffffffffff", "-1-18446744073709551615"},
		{"1b0000000000000001", "1"}, // wider than necessary
		{"4401020304", "h'01020304'"},
		{"6161", `"a"`},
		{"60", `""`},
		{"80", "[]"},
		{"830102f6", "[1, 2, null]"},
		{"9f0102ff", "[1, 2]"},
		{"a16161f5", `{"a": true}`},
		{"bf01f402fbc004000000000000ff", "{1: false, 2: -2.5d}"},
		{"d90cf9 82 6161 6162", `3321(["a", "b"])`},
		{"c4 82 21 19013a", "4([-1-1, 314])"},
		{"9fbfff80ff", "[{}, []]"},

		{"", "error: the end where an item is expected"},
		{"18", "error: the message ends within an item"},
		{"4401", "error: the message ends within a string"},
		{"8201", "error: the message ends within an array or a map"},
		{"9b00000001000000000000", "error: the message ends within an array or a map"},
		{"bbffffffffffffffff00", "error: the message ends within an array or a map"},
		{"9f01", "error: the message ends within an array or a map"},
		{"61ff", "error: a text is not UTF-8"},
		{"ff", "error: a break where an item is expected"},
		{"f7", "error: an item that DAX does not use where an item is expected"},
		{"f93c00", "error: an item that DAX does not use where an item is expected"},
		{"5f4101ff", "error: an item that DAX does not use where an item is expected"},
		{"1c", "error: an item that DAX does not use where an item is expected"},
		{"0000", "error: 1 bytes behind the end"},
	} {
		r := NewReader(unhex(t, c.in))
		got := show(&r)
		if err := r.Close(); err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

// TestReaderErrors reads missing items, and items of the wrong kind.
func TestReaderErrors(t *testing.T) {
	for _, c := range []struct {
		in, want string
		read     func(r *Reader) any
	}{
		{"61ff", "a text where a byte string is expected", func(r *Reader) any { return r.Bytes() }},
		{"41ff", "a text is not UTF-8", func(r *Reader) any { return r.String() }},
		{"1bffffffffffffffff", "an integer is out of range", func(r *Reader) any { return r.Int() }},
		{"f6", "null where true is expected", func(r *Reader) any { return r.Bool() }},
		{"00", "an integer where a double is expected", func(r *Reader) any { return r.Double() }},
		{"00", "an integer where a tag is expected", func(r *Reader) any { return r.Tag() }},
		{"00", "an integer where a map is expected", func(r *Reader) any { return r.Map() }},
		{"", "the end where an integer is expected", func(r *Reader) any { return r.Int() }},
		{"8201", "the message ends within an item", func(r *Reader) any { return r.Raw() }},
		{"81f7", "an item of a kind that DAX does not use", func(r *Reader) any { return r.Raw() }},
	} {
		r := NewReader(unhex(t, c.in))
		c.read(&r)
		if err := r.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.in, err, c.want)
		}
		if len(r.Rest()) != 0 || r.Kind() != End || r.Null() || r.Break() || r.Int() != 0 || r.Raw() != nil {
			t.Errorf("%s: the reader continues after an error", c.in)
		}
		r.Fail("another")
		if r.Err().Error() != c.want {
			t.Errorf("%s: a second error replaced the first one", c.in)
		}
	}
}

func TestRaw(t *testing.T) {
	r := NewReader(unhex(t, "bf01820203ff d90cfc05 6161"))
	for _, want := range []string{"bf01820203ff", "d90cfc05", "6161"} {
		if got := hex.EncodeToString(r.Raw()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if !r.Done() {
		t.Error("bytes are left")
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{AppendInt(nil, -742646399), "3a2c43e27e"},
		{AppendInt(nil, math.MinInt64), "3b7fffffffffffffff"},
		{AppendInt(nil, 23), "17"},
		{AppendUint(nil, 24), "1818"},
		{AppendUint(nil, 256), "190100"},
		{AppendUint(nil, math.MaxUint64), "1bffffffffffffffff"},
		{AppendBytes(nil, []byte{1, 2}), "420102"},
		{AppendText(nil, "é"), "62c3a9"},
		{AppendArray(nil, 3), "83"},
		{AppendMap(nil, 24), "b818"},
		{AppendBreak(AppendMapOpen(nil)), "bfff"},
		{AppendTag(nil, 3321), "d90cf9"},
		{AppendNull(AppendBool(AppendBool(nil, true), false)), "f5f4f6"},
		{AppendDouble(nil, 1.1), "fb3ff199999999999a"},
		{WrapBytes([]byte{9, 1, 2}, 1), "09420102"},
		{WrapBytes([]byte{9}, 1), "0940"},
	} {
		if hex.EncodeToString(c.got) != c.want {
			t.Errorf("got %x, want %s", c.got, c.want)
		}
	}
	long := WrapBytes(make([]byte, 300), 0)
	if r := NewReader(long); len(r.Bytes()) != 300 || !r.Done() {
		t.Error("a long string was wrapped incorrectly")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	in := unhex(t, "9f 01 a1 6161 44 01020304 d90cf9 81 fb3ff199999999999a ff")
	dst := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		var s Scanner
		s.Begin(1)
		if _, whole, _ := s.Scan(in); !whole {
			t.Fatal("the message is incomplete")
		}
		r := NewReader(in)
		n := r.Array()
		for r.More(&n) {
			r.Raw()
		}
		dst = WrapBytes(AppendText(AppendInt(dst[:0], -5), "text"), 0)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
