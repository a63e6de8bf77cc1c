package value

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"

	"github.com/kasoku/kasoku/internal/dynamo/wire"
)

// The service checks attribute values in one of two layers, depending on the operation, and
// their messages about numbers and sets differ. An error has the message of the older layer;
// its Newer is that of the newer one.

// numberFault returns the error for the text of a number.
func numberFault(fault wire.NumberFault, text []byte) *wire.Error {
	i := bytes.IndexAny(text, "eE")
	if i < 0 || fault == wire.NumberMalformed || fault == wire.NumberTooPrecise {
		if fault == wire.NumberMalformed {
			return malformed(text)
		}
		return wire.Invalid("%s", fault.Message(nil))
	}
	exponent, err := strconv.ParseInt(string(text[i+1:]), 10, 64)
	if err != nil {
		return malformed(text)
	}
	return worded(wrapped(text[:i], exponent).Message(text), fault.Message(nil))
}

// malformed returns the error for a text that is no number. Only the newer layer shows an
// empty text.
func malformed(text []byte) *wire.Error {
	older := wire.NumberMalformed.Message(text)
	if len(text) == 0 {
		return worded(older, older+": ")
	}
	return wire.Invalid("%s", older)
}

// wrapped returns the older layer's fault of a number that is out of range. That layer
// computes with exponents of 32 bits, and checks the range with a sum that may overflow.
func wrapped(mantissa []byte, exponent int64) wire.NumberFault {
	digits, fraction := 0, int64(0)
	point := false
	for _, c := range mantissa {
		switch {
		case c == '.':
			point = true
			continue
		case c == '+' || c == '-':
			continue
		}
		if point {
			fraction++
		}
		if digits > 0 || c != '0' {
			digits++
		}
	}
	scale := fraction - exponent
	if int64(int32(exponent)) != exponent || scale < math.MinInt32 || scale > math.MaxInt32 {
		return wire.NumberMalformed
	}
	if int32(max(digits, 1))-int32(scale) < 0 {
		return wire.NumberUnderflow
	}
	return wire.NumberOverflow
}

// duplicates returns the error for a set with duplicates.
func duplicates(typ Type, items []Value) *wire.Error {
	if typ == NumberSet {
		return errNumbers
	}
	older, newer := listing(items), sortedListing(items)
	if typ == BinarySet {
		older, newer = older+"of type BS contains duplicates.", newer+"of type BS contains duplicates."
	} else {
		older, newer = older+" contains duplicates.", newer+" contains duplicates."
	}
	return worded(invalid+"Input collection "+older, invalid+"Input collection "+newer)
}

// listing formats the members of a set as the older layer does: [b, a, b].
func listing(items []Value) string {
	out := []byte{'['}
	for i := range items {
		if i > 0 {
			out = append(out, ',', ' ')
		}
		out = appendMember(out, &items[i])
	}
	return string(append(out, ']'))
}

// sortedListing formats the members of a set with duplicates as the newer layer does, which
// sorts them until it finds the first duplicate: ["a", "b", "b"].
func sortedListing(items []Value) string {
	items = slices.Clone(items)
	slices.SortFunc(items[:firstDuplicate(items)], func(a, b Value) int { return bytes.Compare(a.Text, b.Text) })
	out := []byte{'['}
	for i := range items {
		if i > 0 {
			out = append(out, ',')
			if items[i].Type == String {
				out = append(out, ' ')
			}
		}
		out = append(appendMember(append(out, '"'), &items[i]), '"')
	}
	return string(append(out, ']'))
}

func appendMember(dst []byte, v *Value) []byte {
	if v.Type == Binary {
		return base64.StdEncoding.AppendEncode(dst, v.Text)
	}
	return append(dst, v.Text...)
}

// firstDuplicate returns the position of the first member that is equal to an earlier one.
func firstDuplicate(items []Value) int {
	seen := make(map[string]bool, len(items))
	for i := range items {
		if seen[string(items[i].Text)] {
			return i
		}
		seen[string(items[i].Text)] = true
	}
	return len(items)
}
