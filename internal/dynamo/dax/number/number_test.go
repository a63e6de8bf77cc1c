package number

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kasoku/kasoku/internal/dynamo/dax/cbor"
	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// equal compares two numbers' texts by their values.
func equal(a, b string) bool { return rat(a).Cmp(rat(b)) == 0 }

// TestRecorded converts numbers that clients wrote.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/ordered.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		number, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		n++
		got, err := AppendOrdered(nil, []byte(number))
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: got %x, %v, want %s", number, got, err, want)
		}
		back, err := AppendOrderedText(nil, unhex(t, want))
		if err != nil || !equal(string(back), number) {
			t.Errorf("%s: converted back to %s, %v", number, back, err)
		}
	}
	if n != 36 {
		t.Errorf("only %d numbers were recorded", n)
	}
}

func TestAppendText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"00", "0"},
		{"182a", "42"},
		{"26", "-7"},
		{"1bffffffffffffffff", "18446744073709551615"},
		{"3bffffffffffffffff", "-18446744073709551616"},
		{"c249010000000000000000", "18446744073709551616"},
		{"c349010000000000000000", "-18446744073709551617"},
		{"c240", "0"},
		{"c340", "-1"},
		{"c4822119013a", "3.14"},
		{"c48221 39 0139", "-3.14"},
		{"c482200a", "1"},
		{"c4822119013b", "3.15"},
		{"c48222190c44", "3.14"},
		{"c482391388c25101" + strings.Repeat("00", 16), "340282366920938463463374607431768211456E-5001"},
		{"c2488000000000000000", "9223372036854775808"},
		{"c2480000000000000007", "7"},
		{"c348ffffffffffffffff", "-18446744073709551616"},
		{"c2490000000000000000ff", "255"},
		{"c24a00000000000000000000", "0"},
		{"c4820301", "1000"},
		{"c4822600", "0"},
		{"c4822605", "0.0000005"},
		{"c482387f01", "0." + strings.Repeat("0", 127) + "1"},
		{"c482388a01", "1E-139"},
		{"c482187d01", "1" + strings.Repeat("0", 125)},
		{"c48219014001", "1E320"},
		{"c48220c24a01000000000000000000", "472236648286964521369.6"},
		{"fb3fb999999999999a", "0.1"},
		{"fbc004000000000000", "-2.5"},
		{"fb8000000000000000", "0"},
		{"fb4415af1d78b58c40", "100000000000000000000"},
		{"fb4132d687e3d70a3d", "1234567.89"},
		{"fb3e7ad7f29abcaf48", "0.0000001"},
		{"fb0000000000000001", "5E-324"},
		{"fb7fefffffffffffff", "17976931348623157E292"},

		{"", "error: the end where a number is expected"},
		{"60", "error: a text where a number is expected"},
		{"c48101", "error: a decimal of 1 parts"},
		{"c4821b7fffffffffffffff01", "error: a number is out of range"},
		{"fb7ff8000000000000", "error: a number is out of range"},
		{"fbfff0000000000000", "error: a number is out of range"},
		{"c25885" + strings.Repeat("ff", 133), "error: a number has too many digits"},
	} {
		r := cbor.NewReader(unhex(t, c.in))
		got, err := AppendText(nil, &r)
		if err != nil {
			got = []byte("error: " + err.Error())
		}
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestAppendCBOR(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"0", "00"}, {"-0", "00"}, {"0.00", "00"}, {"5", "05"}, {"+7", "07"}, {"007", "07"}, {"-7", "26"},
		{"18446744073709551615", "1bffffffffffffffff"},
		{"-18446744073709551616", "3bffffffffffffffff"},
		{"18446744073709551616", "c249010000000000000000"},
		{"-18446744073709551617", "c349010000000000000000"},
		{"3.14", "c4822119013a"}, {"1.50", "c482200f"}, {"1.0", "01"}, {"1e3", "1903e8"}, {"1E-7", "c4822601"}, {".5", "c4822005"}, {"5.", "05"},
		{"", ""}, {"-", ""}, {".", ""}, {"1e", ""}, {"1e+", ""}, {"1x", ""}, {"1e1x", ""}, {"1.1.1", ""}, {"1e99999999999", ""}, {strings.Repeat("1", maxDigits+1), ""},
	} {
		got, err := AppendCBOR(nil, []byte(c.in))
		if (err != nil) != (c.want == "") || err == nil && hex.EncodeToString(got) != c.want {
			t.Errorf("%s: got %x, %v, want %s", c.in, got, err, c.want)
		}
	}
}

// TestOrderedRoom encodes numbers with more trailing zeros than a client can store: only zeros
// are dropped.
func TestOrderedRoom(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for _, c := range []struct{ text, want string }{
		{"1" + zeros(37), "1" + zeros(37)},
		{"1" + zeros(38), "1E+38"},
		{"1" + zeros(125), "1E+125"},
		{"-99" + zeros(124), "-99E+124"},
		{strings.Repeat("12", 19) + zeros(50), strings.Repeat("12", 19) + "E+50"},
	} {
		b, err := AppendOrdered(nil, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		text, err := AppendOrderedText(nil, b)
		if err != nil || rat(string(text)).Cmp(rat(c.want)) != 0 || len(b) > 5+(clientDigits/digitsInGroup+2)*groupBits/8+1 {
			t.Errorf("%s: %s in %d bytes, %v, want %s", c.text, text, len(b), err, c.want)
		}
	}
}

func TestOrderedRefuses(t *testing.T) {
	for _, in := range []string{"", "x", "12e2147483647", "0.1e-2147483648"} {
		if got, err := AppendOrdered(nil, []byte(in)); err == nil {
			t.Errorf("%s was accepted as %x", in, got)
		}
	}
	for _, in := range []string{
		"", "00", "ff", "8000", "c1", "c11c", "c11c00ff", "c11c000000", "c1000000", "fe80", "fe8000000", "fe800000011c0000", "817fffffff1c0000",
		"c10c0000", // 000 as the first digits
		"c11c4000", // the terminator removes digits that don't exist
	} {
		if len(in)%2 == 1 {
			in += "0"
		}
		if got, err := AppendOrderedText(nil, unhex(t, in)); err == nil {
			t.Errorf("%s was accepted as %s", in, got)
		}
	}
}

// numbers generates texts that DynamoDB accepts as numbers.
var numbers = rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?`)

// canonical returns the text with which DynamoDB returns a number.
func canonical(t *rapid.T, text string) string {
	t.Helper()
	want, ok := wire.AppendNumber(nil, []byte(text))
	if x, y := rat(text), rat(string(want)); !ok || x.Cmp(y) != 0 {
		t.Fatalf("the canonical form of %s: got %s, %v", text, want, ok)
	}
	return string(want)
}

func rat(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text + " is no number")
	}
	return x
}

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := numbers.Draw(t, "number")
		b, err := AppendCBOR(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		r := cbor.NewReader(b)
		back, err := AppendText(nil, &r)
		if want := canonical(t, text); err != nil || r.Close() != nil || string(back) != want {
			t.Fatalf("%s: %x was converted back to %s, %v, want %s", text, b, back, err, want)
		}
	})
}

// TestIntegers generates integers of any length, in the shortest encoding that holds them.
func TestIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes")
		tag := rapid.SampledFrom([]uint64{tagPositive, tagNegative}).Draw(t, "tag")
		exp := rapid.IntRange(-20, 20).Draw(t, "exponent")
		want := new(big.Int).SetBytes(content)
		if tag == tagNegative {
			want.Not(want)
		}
		mantissa := cbor.AppendBytes(cbor.AppendTag(nil, tag), content)
		r := cbor.NewReader(mantissa)
		if got, err := AppendText([]byte("x"), &r); err != nil || r.Close() != nil || string(got) != "x"+want.String() {
			t.Fatalf("%x is %s, %v, want %s", mantissa, got, err, want)
		}
		b := append(cbor.AppendInt(cbor.AppendArray(cbor.AppendTag(nil, tagDecimal), 2), int64(exp)), mantissa...)
		r = cbor.NewReader(b)
		scaled := fmt.Sprintf("%sE%d", want, exp)
		got, err := AppendText(nil, &r)
		if err != nil || r.Close() != nil || !equal(string(got), scaled) {
			t.Fatalf("%x is %s, %v, want %s", b, got, err, scaled)
		}
		if plain, ok := wire.AppendNumber(nil, []byte(scaled)); ok && !bytes.Equal(got, plain) {
			t.Fatalf("%x is %s, want %s", b, got, plain)
		}
	})
}

// TestDoubles checks that doubles are read as the number with their shortest text.
func TestDoubles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "double")
		r := cbor.NewReader(cbor.AppendDouble(nil, f))
		got, err := AppendText(nil, &r)
		shortest := strconv.FormatFloat(f, 'e', -1, 64)
		if err != nil || r.Close() != nil || !equal(string(got), shortest) {
			t.Fatalf("%v is %s, %v", f, got, err)
		}
		if plain, ok := wire.AppendNumber(nil, []byte(shortest)); ok && !bytes.Equal(got, plain) {
			t.Fatalf("%v is %s, want %s", f, got, plain)
		}
	})
}

// TestOrder checks that encoded numbers have the order of the numbers.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers.Draw(t, "a"), numbers.Draw(t, "b")
		x, y := rat(a), rat(b)
		p, err := AppendOrdered(nil, []byte(a))
		q, err2 := AppendOrdered(nil, []byte(b))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if c := x.Cmp(y); c != 0 && c != bytes.Compare(p, q) {
			t.Fatalf("%s is %x and %s is %x", a, p, b, q)
		}
		back, err := AppendOrderedText(nil, p)
		if want := canonical(t, a); err != nil || string(back) != want {
			t.Fatalf("%s was converted back to %s, %v, want %s", a, back, err, want)
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	var dst []byte
	others := [][]byte{unhex(t, "fb40091eb851eb851f"), unhex(t, "c24720000000000001")}
	for _, text := range []string{"42", "-3.14", "123456789012345678", "0.30000000000000004"} {
		b, _ := AppendCBOR(nil, []byte(text))
		ordered, _ := AppendOrdered(nil, []byte(text))
		in := []byte(text)
		dst = make([]byte, 0, 100)
		if n := testing.AllocsPerRun(100, func() {
			r := cbor.NewReader(b)
			dst, _ = AppendText(dst[:0], &r)
			dst, _ = AppendCBOR(dst[:0], in)
			dst, _ = AppendOrdered(dst[:0], in)
			dst, _ = AppendOrderedText(dst[:0], ordered)
			for _, other := range others {
				r = cbor.NewReader(other)
				dst, _ = AppendText(dst[:0], &r)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want none", text, n)
		}
	}
}

func FuzzOrdered(f *testing.F) {
	for _, s := range []string{"80", "c11c0000", "3ed77fe0", "fe800000651c0000", "817fffff80fa8010"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := AppendOrderedText(nil, b)
		if err != nil || bytes.ContainsAny(text, "E") {
			return // some are too large to be compared
		}
		again, err := AppendOrdered(nil, text)
		if err != nil {
			t.Fatalf("%x is %s, which is %v", b, text, err)
		}
		if back, err := AppendOrderedText(nil, again); err != nil || !equal(string(back), string(text)) {
			t.Fatalf("%x is %s, then %x is %s", b, text, again, back)
		}
	})
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"00", "3bffffffffffffffff", "c4822119013a", "c249010000000000000000", "fb3fb999999999999a"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := cbor.NewReader(b)
		text, err := AppendText(nil, &r)
		if err != nil {
			return
		}
		again, err := AppendCBOR(nil, text)
		if err != nil {
			return // more digits or a larger exponent than can be written
		}
		r = cbor.NewReader(again)
		if len(text) > 200 || bytes.ContainsAny(text, "E") {
			return
		}
		if plain, ok := wire.AppendNumber(nil, text); ok && !bytes.Equal(text, plain) {
			t.Fatalf("%x is %s, want %s", b, text, plain)
		}
		if back, err := AppendText(nil, &r); err != nil || !equal(string(back), string(text)) {
			t.Fatalf("%x is %s, then %x is %s", b, text, again, back)
		}
	})
}
