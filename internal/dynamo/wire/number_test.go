package wire

import (
	"math/big"
	"regexp"
	"strings"
	"testing"
)

func zeros(n int) string { return strings.Repeat("0", n) }

func TestAppendNumber(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got, ok := AppendNumber([]byte("<"), []byte(in))
		if !ok || string(got) != "<"+want {
			t.Errorf("AppendNumber(%s) = %s, %v; want %s", in, got, ok, want)
		}
	}
	f("0", "0")
	f("7", "7")
	f("-7", "-7")
	f("1234567890", "1234567890")
	f("-0", "0")
	f("+0.00", "0")
	f("-0e5", "0")
	f("0.0e126", "0")
	f(".5", "0.5")
	f("5.", "5")
	f("+3", "3")
	f("0001.2300", "1.23")
	f("-0001.2300", "-1.23")
	f("1e3", "1000")
	f("1E+3", "1000")
	f("1.5e3", "1500")
	f("1.5e0", "1.5")
	f("15e-1", "1.5")
	f("1e-3", "0.001")
	f("1200e-2", "12")
	f("0.00012e4", "1.2")
	f("100200", "100200")
	f("100.200", "100.2")
	f("1E125", "1"+zeros(125))
	f("9.9999999999999999999999999999999999999E+125", strings.Repeat("9", 38)+zeros(88))
	f("1E-130", "0."+zeros(129)+"1")
	f("-1e-130", "-0."+zeros(129)+"1")
	f(zeros(500)+"1", "1")
	f("0."+zeros(500)+"1e501", "1")
	f("12345678901234567890123456789012345678"+zeros(10), "12345678901234567890123456789012345678"+zeros(10))
	f("1"+zeros(36)+"1", "1"+zeros(36)+"1")
	f("1"+zeros(60), "1"+zeros(60))
	f("1e0000000000000000000000000000000003", "1000")
}

func TestNumberFaults(t *testing.T) {
	f := func(in string, want NumberFault, message string) {
		t.Helper()
		var n Number
		if got := n.Parse([]byte(in)); got != want || got.Message([]byte(in)) != message {
			t.Errorf("Parse(%q) = %d, %s; want %d, %s", in, got, got.Message([]byte(in)), want, message)
		}
		if got, ok := AppendNumber([]byte("<"), []byte(in)); ok || string(got) != "<" {
			t.Errorf("AppendNumber(%q) = %s, %v", in, got, ok)
		}
	}
	const numeric = "The parameter cannot be converted to a numeric value"
	f("", NumberMalformed, numeric)
	for _, in := range []string{" 1", "1 ", "-", "+", ".", "e5", ".e5", "1e", "1e+", "1e5.0", "--1", "1.2.3", "NaN", "Infinity", "0x10", "1_0", "1,0", "é", "1e5x"} {
		f(in, NumberMalformed, numeric+": "+in)
	}
	const precise = "Attempting to store more than 38 significant digits in a Number"
	f(strings.Repeat("1", 39), NumberTooPrecise, precise)
	f("1"+zeros(37)+"1", NumberTooPrecise, precise)
	f("0.1"+zeros(37)+"1", NumberTooPrecise, precise)
	f(strings.Repeat("1", 39)+"e87", NumberTooPrecise, precise)
	f(strings.Repeat("1", 39)+"e-168", NumberTooPrecise, precise)
	const over = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	f("1E126", NumberOverflow, over)
	f("-1E126", NumberOverflow, over)
	f("10E125", NumberOverflow, over)
	f("0e126", NumberOverflow, over)
	f("1e999999999999999999999999999", NumberOverflow, over)
	f("1"+zeros(126), NumberOverflow, over)
	f(strings.Repeat("1", 39)+"e88", NumberOverflow, over)
	const under = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	f("1E-131", NumberUnderflow, under)
	f("0.1E-130", NumberUnderflow, under)
	f(strings.Repeat("1", 39)+"e-169", NumberUnderflow, under)
	f("1e-999999999999999999999999999", NumberUnderflow, under)
}

func TestNumberSize(t *testing.T) {
	f := func(in string, want int) {
		t.Helper()
		var n Number
		n.Parse([]byte(in))
		if got := n.Size(); got != want {
			t.Errorf("size of %s = %d; want %d", in, got, want)
		}
	}
	f("0", 1)
	f("42", 2)
	f("-42", 3)
	f("1E125", 2)
	f("0.0000001", 2)
	f("1.5", 3)
	f("100", 2)
	f("100.5", 4)
	f("12345", 4)
	f("1.05", 3)
	f("12345678901234567890123456789012345678", 20)
}

func TestNumberCompare(t *testing.T) {
	ordered := []string{"-1e125", "-100", "-99.5", "-1", "-1e-130", "0", "1e-130", "0.5", "0.51", "1", "1.000001", "9", "10", "1e125"}
	for i, a := range ordered {
		for j, b := range ordered {
			var m, n Number
			m.Parse([]byte(a))
			n.Parse([]byte(b))
			if got, want := sign(m.Compare(&n)), sign(i-j); got != want {
				t.Errorf("Compare(%s, %s) = %d; want %d", a, b, got, want)
			}
		}
	}
	var m, n Number
	m.Parse([]byte("1e3"))
	n.Parse([]byte("1000.0"))
	if m.Compare(&n) != 0 {
		t.Error("1e3 and 1000.0 differ")
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

var numberGrammar = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)

// canonicalForm matches canonical numbers.
var canonicalForm = regexp.MustCompile(`^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$`)

func FuzzAppendNumber(f *testing.F) {
	for _, s := range []string{"", "0", "-0.0", "1e3", ".5", "5.", "+3", "0001.2300", "1E125", "1E126", "1E-130", "1e-131", "0e126", "12.345e-7",
		strings.Repeat("9", 38), strings.Repeat("9", 39), "1" + zeros(125), "1e+", "--1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := AppendNumber(nil, []byte(s))
		if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 6 {
			return // math/big would expand the exponent
		}
		valid := numberGrammar.MatchString(s)
		if !valid {
			if ok {
				t.Fatalf("AppendNumber(%q) = %s", s, got)
			}
			return
		}
		want, _ := new(big.Rat).SetString(s)
		if ok != storable(want) && want.Sign() != 0 {
			t.Fatalf("AppendNumber(%q) ok = %v", s, ok)
		}
		if !ok {
			return
		}
		if !canonicalForm.Match(got) {
			t.Fatalf("AppendNumber(%q) = %s", s, got)
		}
		if value, _ := new(big.Rat).SetString(string(got)); value.Cmp(want) != 0 {
			t.Fatalf("AppendNumber(%q) = %s", s, got)
		}
		if again, ok := AppendNumber(nil, got); !ok || string(again) != string(got) {
			t.Fatalf("AppendNumber(%s) = %s, %v", got, again, ok)
		}
	})
}

// storable reports whether a number other than zero has at most 38 significant
// digits and a magnitude in range.
func storable(r *big.Rat) bool {
	ten := big.NewInt(10)
	low := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(ten, big.NewInt(130), nil))
	high := new(big.Rat).SetInt(new(big.Int).Exp(ten, big.NewInt(126), nil))
	abs := new(big.Rat).Abs(r)
	if abs.Cmp(low) < 0 || abs.Cmp(high) >= 0 {
		return false
	}
	// 38 digits below 1e-130: the smallest possible last digit.
	scaled := new(big.Rat).Mul(abs, new(big.Rat).SetInt(new(big.Int).Exp(ten, big.NewInt(170), nil)))
	return scaled.IsInt() && len(strings.TrimRight(scaled.Num().String(), "0")) <= 38
}
