package wire

import (
	"bytes"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// drawNumber generates a number with few or many digits, near zero or far from it.
func drawNumber(r *rapid.T) Number {
	n := Number{
		negative: rapid.Bool().Draw(r, "negative"),
		count:    rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, maxDigits)).Draw(r, "digits"),
		exp:      rapid.OneOf(rapid.IntRange(-3, 40), rapid.IntRange(minExponent, maxExponent)).Draw(r, "exponent"),
	}
	if n.count == 0 {
		return Number{}
	}
	for i := range n.digits[:n.count] {
		n.digits[i] = rapid.SampledFrom([]byte("0019")).Draw(r, "digit")
	}
	for _, i := range []int{0, n.count - 1} {
		n.digits[i] = rapid.SampledFrom([]byte("159")).Draw(r, "end")
	}
	return n
}

// whole returns the number times 10 to the power of 200, which is an integer.
func whole(n *Number) *big.Int {
	i, _ := new(big.Int).SetString(string(n.digits[:n.count]), 10)
	if n.count == 0 {
		return new(big.Int)
	}
	i.Mul(i, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(200+n.lastPlace())), nil))
	if n.negative {
		i.Neg(i)
	}
	return i
}

// wantSum returns the expected result of Add for an exact sum.
func wantSum(sum *big.Int) (text string, fault NumberFault) {
	digits := new(big.Int).Abs(sum).String()
	exp := len(digits) - 1 - 200
	significant := len(bytes.TrimRight([]byte(digits), "0"))
	switch {
	case sum.Sign() == 0:
		return "0", NumberFine
	case significant > maxDigits || exp > maxExponent:
		return "", NumberOverflow
	case exp < minExponent:
		return "", NumberUnderflow
	}
	n := Number{negative: sum.Sign() < 0, count: significant, exp: exp}
	copy(n.digits[:], digits[:significant])
	return string(n.Append(nil)), NumberFine
}

func TestAnySum(t *testing.T) {
	faults := map[NumberFault]int{}
	rapid.Check(t, func(r *rapid.T) {
		a, b := drawNumber(r), drawNumber(r)
		if rapid.IntRange(0, 4).Draw(r, "alike") == 0 {
			b.exp = a.exp
		}
		want, wantFault := wantSum(new(big.Int).Add(whole(&a), whole(&b)))
		var sum Number
		fault := sum.Add(&a, &b)
		faults[fault]++
		if fault != wantFault || fault == NumberFine && string(sum.Append(nil)) != want {
			r.Fatalf("%s + %s = %s, %d; want %s, %d", a.Append(nil), b.Append(nil), sum.Append(nil), fault, want, wantFault)
		}
		inPlace := a
		if inPlace.Add(&inPlace, &b) != fault || fault == NumberFine && inPlace != sum {
			r.Fatalf("%s + %s = %s in place", a.Append(nil), b.Append(nil), inPlace.Append(nil))
		}
		var parsed Number
		if fault == NumberFine && (parsed.Parse([]byte(want)) != NumberFine || parsed != sum) {
			r.Fatalf("%s + %s = %v; want %v", a.Append(nil), b.Append(nil), sum, parsed)
		}
	})
	if faults[NumberFine] == 0 || faults[NumberOverflow] == 0 {
		t.Errorf("some outcomes did not occur: %v", faults)
	}
}

func TestNegate(t *testing.T) {
	for in, want := range map[string]string{"0": "0", "1.5": "-1.5", "-1.5": "1.5"} {
		var n Number
		n.Parse([]byte(in))
		n.Negate()
		if got := string(n.Append(nil)); got != want || in == "0" && n.negative {
			t.Errorf("Negate(%s) = %s", in, got)
		}
	}
}

func TestAnyOrdered(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := drawNumber(r), drawNumber(r)
		if rapid.Bool().Draw(r, "alike") {
			b.exp, b.negative = a.exp, a.negative && b.count > 0
			copy(b.digits[:max(b.count-1, 0)], a.digits[:max(a.count-1, 0)])
			if b.count > 0 && b.digits[0] == 0 || bytes.IndexByte(b.digits[:b.count], 0) >= 0 {
				r.Skip("not a number any more")
			}
		}
		want := whole(&a).Cmp(whole(&b))
		x, y := a.AppendOrdered(nil), b.AppendOrdered(nil)
		if got := bytes.Compare(x, y); got != want {
			r.Fatalf("%s and %s: % x and % x have order %d; want %d", a.Append(nil), b.Append(nil), x, y, got, want)
		}
		if want != 0 && (bytes.HasPrefix(x, y) || bytes.HasPrefix(y, x)) {
			r.Fatalf("%s and %s: one of % x and % x is a prefix of the other", a.Append(nil), b.Append(nil), x, y)
		}
		if len(x) > 2+(maxDigits+1)/2+1 {
			r.Fatalf("%s is encoded with %d bytes", a.Append(nil), len(x))
		}
	})
}
