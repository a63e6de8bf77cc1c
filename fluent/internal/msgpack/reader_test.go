package msgpack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tinylib/msgp/msgp"
)

// samples are whole values of every form.
func samples() [][]byte {
	long := strings.Repeat("é", 40000)
	list := [][]byte{
		AppendNil(nil), AppendBool(nil, true), AppendBool(nil, false),
		AppendFloat64(nil, 1.5), AppendFloat32(nil, -2), AppendEventTime(nil, time.Unix(1, 2)),
		AppendString(nil, ""), AppendString(nil, "key"), AppendString(nil, long[:100]), AppendString(nil, long[:400]), AppendString(nil, long),
		AppendBytes(nil, nil), AppendBytes(nil, []byte(long[:400])), AppendBytes(nil, []byte(long)),
		AppendArrayLen(nil, 0), AppendMapLen(nil, 0),
		unhex("92 01 81 a1 61 93 c0 c3 c4 01 ff"),
		unhex("c7 08 00 65 53 f1 00 00 00 00 05"), unhex("c8 0001 2a 00"), unhex("c9 00000002 2a 0000"),
		unhex("d4 01 00"), unhex("d5 01 0000"), unhex("d6 01 00000000"), append(unhex("d8 ff"), make([]byte, 16)...),
		unhex("dd 00000001 df 00000001 db 00000001 61 c6 00000001 00"),
		unhex("d0 05"), unhex("d1 0005"), unhex("d2 00000005"), unhex("d3 0000000000000005"),
	}
	for _, n := range edges {
		list = append(list, AppendInt(nil, n))
	}
	wide, deep := AppendArrayLen(nil, 70000), []byte{}
	for range 70000 {
		wide = AppendNil(wide)
		deep = AppendArrayLen(deep, 1)
	}
	return append(list, wide, AppendNil(deep))
}

func TestSkip(t *testing.T) {
	for _, b := range samples() {
		if n, err := Skip(b); n != len(b) || err != nil {
			t.Errorf("% x: %d, %v", b[:min(len(b), 16)], n, err)
		}
		if n, err := Skip(append(bytes.Clone(b), 0xc1, 0xc1)); n != len(b) || err != nil {
			t.Errorf("% x with more behind: %d, %v", b[:min(len(b), 16)], n, err)
		}
		for cut := len(b) - 1; cut >= 0; cut -= 1 + len(b)/50 {
			if n, err := Skip(b[:cut]); n != 0 || err != ErrShort {
				t.Errorf("% x cut to %d: %d, %v", b[:min(len(b), 16)], cut, n, err)
			}
		}
	}
}

func TestSkipFailure(t *testing.T) {
	f := func(b string, want error) {
		t.Helper()
		if n, err := Skip(unhex(b)); n != 0 || err != want {
			t.Fatalf("%s: %d, %v; want %v", b, n, err, want)
		}
	}
	f("c1", ErrInvalid)
	f("92 01 c1", ErrInvalid)
	f("81 a1 61 c1", ErrInvalid)
	f("", ErrShort)
	f("dd ffffffff 00", ErrShort)
	f("df ffffffff 00", ErrShort)
	f("df 80000000 00 00 00", ErrShort)
	f("db ffffffff 00", ErrShort)
	f("c9 ffffffff 00", ErrShort)
	f("92 92 01", ErrShort)
}

func TestSkipNested(t *testing.T) {
	f := func(b string, depth int, want error) {
		t.Helper()
		n, err := SkipNested(unhex(b+"c1"), depth)
		if err != want || err == nil && n != len(unhex(b)) || err != nil && n != 0 {
			t.Fatalf("%s at most %d deep: %d, %v; want %v", b, depth, n, err, want)
		}
	}
	f("01", 0, nil)
	f("90", 0, ErrDeep)
	f("90", 1, nil)
	f("80", 0, ErrDeep)
	f("92 01 a1 61", 1, nil)
	f("92 91 01 81 01 02", 1, ErrDeep)
	f("92 91 01 81 01 02", 2, nil)
	f("93 91 01 82 01 91 02 03 90 04", 2, ErrDeep)
	f("93 91 01 82 01 91 02 03 90 04", 3, nil)
	f("92 91 01", 2, ErrInvalid) // the byte behind it
	f("dd 7fffffff 00", 1, ErrShort)
	f(strings.Repeat("91", MaxNested)+"00", MaxNested, nil)
	f(strings.Repeat("91", MaxNested+1)+"00", 1000, ErrDeep)
}

func TestReader(t *testing.T) {
	b := AppendArrayLen(nil, 9)
	b = AppendBytes(AppendString(b, "HELO"), []byte("nonce"))
	b = AppendBool(AppendInt(b, -5), true)
	b = AppendNil(AppendUint(b, math.MaxUint64))
	b = AppendEventTime(AppendFloat64(AppendFloat32(b, 1.5), 2.5), time.Unix(1, 2))
	b = AppendInt(AppendString(AppendMapLen(b, 1), "skipped"), 1)

	r := NewReader(b)
	f := func(ok bool, err error) {
		t.Helper()
		if err != nil || !ok {
			t.Fatalf("at byte %d: %v", r.pos, err)
		}
	}
	n, err := r.ArrayLen()
	f(n == 9, err)
	s, err := r.String()
	f(s == "HELO", err)
	s, err = r.String()
	f(s == "nonce", err)
	i, err := r.Int()
	f(i == -5, err)
	v, err := r.Bool()
	f(v, err)
	u, err := r.Uint()
	f(u == math.MaxUint64, err)
	f(r.Kind() == Nil, r.Skip())
	d, single, err := r.Float()
	f(d == 1.5 && single, err)
	d, single, err = r.Float()
	f(d == 2.5 && !single, err)
	ext, data, err := r.Ext()
	f(ext == 0 && bytes.Equal(data, unhex("00000001 00000002")), err)
	f(r.Kind() == Map, r.Skip())
	f(r.Kind() == Invalid && r.pos == len(b) && len(r.Rest()) == 0, nil)
	if err := r.Skip(); err != ErrShort {
		t.Fatalf("at the end: %v", err)
	}
}

// TestReaderFailure checks the error of each method for an unsuitable value, and that the
// value is not consumed.
func TestReaderFailure(t *testing.T) {
	f := func(b string, read func(*Reader) error, want string) {
		t.Helper()
		r := NewReader(unhex("90" + b))
		if _, err := r.ArrayLen(); err != nil {
			t.Fatal(err)
		}
		if err := read(&r); err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
		if r.pos != 1 {
			t.Fatalf("the reader moved to %d", r.pos)
		}
	}
	str := func(r *Reader) error { _, err := r.String(); return err }
	integer := func(r *Reader) error { _, err := r.Int(); return err }
	unsigned := func(r *Reader) error { _, err := r.Uint(); return err }
	array := func(r *Reader) error { _, err := r.ArrayLen(); return err }
	mapLen := func(r *Reader) error { _, err := r.MapLen(); return err }
	boolean := func(r *Reader) error { _, err := r.Bool(); return err }

	f("01", str, "msgpack: found an integer at byte 1 where a string was expected")
	f("80", array, "msgpack: found a map at byte 1 where an array was expected")
	f("c0", mapLen, "msgpack: found nil at byte 1 where a map was expected")
	f("c4 00", boolean, "msgpack: found binary data at byte 1 where a bool was expected")
	f("ca 00000000", integer, "msgpack: found a float at byte 1 where an integer was expected")
	f("cf 8000000000000000", integer, "msgpack: integer 9223372036854775808 at byte 1 is out of range")
	f("ff", unsigned, "msgpack: integer -1 at byte 1 is out of range")
	f("d3 8000000000000000", unsigned, "msgpack: integer -9223372036854775808 at byte 1 is out of range")
	f("c1", str, ErrInvalid.Error())
	f("c1", (*Reader).Skip, ErrInvalid.Error())
	f("a2 61", str, ErrShort.Error())
	f("dd 00ffffff 00", array, ErrShort.Error())
	f("df 00ffffff 00", mapLen, ErrShort.Error())
	f("", (*Reader).Skip, ErrShort.Error())
}

// FuzzSkip compares with msgp, which supports the same formats with two differences: it
// refuses deep nesting, and it detects 0xc1 later.
func FuzzSkip(f *testing.F) {
	for _, b := range samples() {
		if len(b) < 1000 {
			f.Add(b)
		}
	}
	f.Add(unhex("dd ffffffff dd ffffffff dd ffffffff"))
	f.Add(unhex("92 01 c1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := Skip(b)
		rest, theirs := msgp.Skip(b)
		switch {
		case err != nil && n != 0:
			t.Fatalf("%d bytes and %v", n, err)
		case err == nil && (n <= 0 || n > len(b)):
			t.Fatalf("%d bytes of %d", n, len(b))
		case err == nil && theirs == nil && n != len(b)-len(rest):
			t.Fatalf("Skip reads %d bytes, msgp %d", n, len(b)-len(rest))
		case err == nil && theirs != nil && !errors.Is(theirs, msgp.ErrRecursion):
			t.Fatalf("Skip reads %d bytes, but msgp fails with %v", n, theirs)
		case err != nil && theirs == nil:
			t.Fatalf("%v where msgp finds a value of %d bytes", err, len(b)-len(rest))
		}
		nested, err2 := SkipNested(b, MaxNested)
		switch {
		case err2 == nil && (err != nil || nested != n):
			t.Fatalf("%d bytes and %v, but %d nested", n, err, nested)
		case err2 != nil && err2 != ErrDeep && err == nil:
			t.Fatalf("%d bytes, but nested %v", n, err2)
		case err == nil:
			if _, err := Skip(b[:n-1]); err != ErrShort {
				t.Fatalf("without its last byte: %v", err)
			}
		}
	})
}

// FuzzReader reads values by their kind and writes them again.
func FuzzReader(f *testing.F) {
	for _, b := range samples() {
		if len(b) < 1000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		whole := 0 // the end of the value according to Skip
		for range len(b) + 1 {
			before := r.pos
			if before == whole {
				n, err := Skip(b[before:])
				if err != nil {
					return
				}
				whole += n
			}
			again, err := reread(&r)
			switch {
			case err != nil:
				t.Fatalf("byte %d of a whole value: %v", before, err)
			case r.pos <= before || r.pos > whole:
				t.Fatalf("from %d to %d", before, r.pos)
			case len(again) > r.pos-before:
				t.Fatalf("% x was read from % x, which is shorter", again, b[before:r.pos])
			}
			back := NewReader(again)
			if kind, was := back.Kind(), (&Reader{b: b[before:]}).Kind(); kind != was && again != nil {
				t.Fatalf("%v became %v", was, kind)
			}
		}
	})
}

// reread reads the next value, or the head of an array or map, and returns it encoded by
// Append; nil for heads that are no values of their own.
func reread(r *Reader) ([]byte, error) {
	switch r.Kind() {
	case Nil:
		return AppendNil(nil), r.Skip()
	case Bool:
		v, err := r.Bool()
		return AppendBool(nil, v), err
	case Int:
		if v, err := r.Uint(); err == nil {
			return AppendUint(nil, v), nil
		}
		v, err := r.Int()
		return AppendInt(nil, v), err
	case Float:
		v, single, err := r.Float()
		if single {
			return AppendFloat32(nil, float32(v)), err
		}
		return AppendFloat64(nil, v), err
	case String:
		v, err := r.String()
		return AppendString(nil, v), err
	case Binary:
		v, err := r.Bytes()
		return AppendBytes(nil, v), err
	case Ext:
		kind, data, err := r.Ext()
		if len(data) == 8 && kind == 0 {
			sec, nsec := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
			return AppendEventTime(nil, time.Unix(int64(sec), int64(nsec)))[:10:10], err
		}
		return nil, err
	case Array:
		_, err := r.ArrayLen()
		return nil, err
	case Map:
		_, err := r.MapLen()
		return nil, err
	}
	return nil, errors.New("no kind")
}
