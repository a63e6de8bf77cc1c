package value

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// ordered are values of each type in their order.
var ordered = map[Type][]string{
	String: {"", "\x00", "\x00\x00", "\x00\x01", "\x01", "\x01\x00", "A", "a", "a\x00", "a\x00\x00", "a\x00b", "a\x01", "aa", "b", "é", "😀"},
	Binary: {"", "\x00", "\x00\x00", "\x00\xff", "\x01", "\xfe", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff"},
	Number: {"-99999999999999999999999999999999999999e88", "-1e125", "-101", "-100.5", "-100", "-99.99", "-99.9", "-10", "-9.5", "-9", "-1", "-0.11", "-0.1", "-0.01", "-1e-130",
		"0", "1e-130", "1.1e-130", "0.001", "0.01", "0.1", "0.11", "0.9", "1", "1.0000000000000000000000000000000000001", "1.5", "9", "10", "10.01", "10.1", "11", "99", "100", "109", "110", "1e125",
		"99999999999999999999999999999999999999e88"},
}

func TestOrder(t *testing.T) {
	for typ, texts := range ordered {
		values := make([]Value, len(texts))
		for i, text := range texts {
			values[i] = Value{Type: typ, Text: []byte(text)}
			if typ == Number {
				values[i] = mustParse(t, `{"N":"`+text+`"}`)
			}
		}
		for i := range values {
			for j := range values {
				checkOrder(t, &values[i], &values[j], compareInts(i, j))
			}
		}
	}
}

func compareInts(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

// tails are texts that may follow a key.
var tails = []string{"", "\x00", "\xff\xff", "\xff\x00\xff"}

// checkOrder compares the values, their key bytes, and their key bytes followed by others.
func checkOrder(t interface{ Fatalf(string, ...any) }, v, w *Value, want int) {
	order, ok := Compare(v, w)
	if !ok || order != want {
		t.Fatalf("Compare(%q, %q) = %d, %v; want %d", v.Text, w.Text, order, ok, want)
	}
	if want == 0 != v.Equal(w) {
		t.Fatalf("Equal(%q, %q) = %v", v.Text, w.Text, v.Equal(w))
	}
	a, b := v.AppendKey([]byte("<"))[1:], w.AppendKey(nil)
	for _, tail := range tails {
		for _, other := range tails {
			if want != 0 && bytes.Compare(append(slices.Clone(a), tail...), append(slices.Clone(b), other...)) != want {
				t.Fatalf("keys of %q and %q, % x and % x, have another order when followed by % x and % x", v.Text, w.Text, a, b, tail, other)
			}
		}
	}
	if want == 0 != bytes.Equal(a, b) {
		t.Fatalf("wrong order of the keys of %q and %q: % x and % x", v.Text, w.Text, a, b)
	}
}

func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		typ := rapid.SampledFrom(scalarTypes).Draw(r, "type")
		v, w := scalar(r, typ), scalar(r, typ)
		want := bytes.Compare(v.Text, w.Text)
		if typ == Number {
			var m, n wire.Number
			m.Parse(v.Text)
			n.Parse(w.Text)
			want = compareInts(m.Compare(&n), 0)
		}
		checkOrder(r, &v, &w, want)
	})
}

func TestKeyPrefix(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		v := Value{Type: Binary, Text: text(r)}
		w := Value{Type: Binary, Text: text(r)}
		if rapid.Bool().Draw(r, "related") {
			w.Text = append(slices.Clone(v.Text), w.Text...)
		}
		want := bytes.HasPrefix(w.Text, v.Text)
		if got := bytes.HasPrefix(w.AppendKey(nil), v.AppendKeyPrefix(nil)); got != want {
			r.Fatalf("key of %q begins with prefix of %q: %v; want %v", w.Text, v.Text, got, want)
		}
	})
}

func TestNoOrder(t *testing.T) {
	f := func(a, b string) {
		t.Helper()
		v, w := mustParse(t, a), mustParse(t, b)
		if order, ok := Compare(&v, &w); ok || order != 0 {
			t.Errorf("Compare(%s, %s) = %d, %v", a, b, order, ok)
		}
	}
	f(`{"S":"1"}`, `{"N":"1"}`)
	f(`{"S":"1"}`, `{"B":""}`)
	for _, in := range []string{`{"BOOL":true}`, `{"NULL":true}`, `{"SS":["a"]}`, `{"NS":["1"]}`, `{"BS":[""]}`, `{"L":[]}`, `{"M":{}}`} {
		f(in, in)
	}
}
