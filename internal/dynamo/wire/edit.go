package wire

import (
	"bytes"
	"math"
	"strconv"
)

// WithoutMember appends the object obj without its member called name, and otherwise
// unchanged. It returns false if obj isn't an object or has the member twice.
func WithoutMember(dst, obj []byte, name string) ([]byte, bool) {
	cutFrom, cutTo := -1, 0
	previous := 0 // end of the member before the removed one
	it := Object(obj)
	for it.Next() {
		if !NameIs(it.Name(), name) {
			if cutFrom < 0 {
				previous = it.End()
			}
			continue
		}
		if cutFrom >= 0 {
			return dst, false
		}
		cutFrom, cutTo = it.nameStart-1, it.End()
	}
	switch {
	case it.Err():
		return dst, false
	case cutFrom < 0:
		return append(dst, obj...), true
	case previous > 0:
		cutFrom = previous + bytes.IndexByte(obj[previous:], ',') // its comma is removed too
	default:
		cutTo = skipComma(obj, cutTo)
	}
	dst = append(dst, obj[:cutFrom]...)
	return append(dst, obj[cutTo:]...), true
}

// skipComma returns the index after the comma that follows i, or i if there is none.
func skipComma(obj []byte, i int) int {
	if next := skipSpace(obj, i); next < len(obj) && obj[next] == ',' {
		return next + 1
	}
	return i
}

// SetMember appends the object obj with the member called name set to value, and otherwise
// unchanged. A new member is added at the end. It returns false if obj isn't an object or
// has the member twice.
func SetMember(dst, obj []byte, name string, value []byte) ([]byte, bool) {
	from, to, last := -1, 0, 0
	it := Object(obj)
	for it.Next() {
		last = it.End()
		if !NameIs(it.Name(), name) {
			continue
		}
		if from >= 0 {
			return dst, false
		}
		from, to = it.Start(), it.End()
	}
	switch {
	case it.Err():
		return dst, false
	case from >= 0:
		dst = append(dst, obj[:from]...)
		dst = append(dst, value...)
		return append(dst, obj[to:]...), true
	case last > 0:
		dst = append(dst, obj[:last]...)
		dst = append(dst, ',')
	default:
		last = skipSpace(obj, 0) + 1
		dst = append(dst, obj[:last]...)
	}
	dst = AppendQuoted(dst, []byte(name))
	dst = append(dst, ':')
	dst = append(dst, value...)
	return append(dst, obj[last:]...), true
}

// HalveCapacity appends the response body with each CapacityUnits and ReadCapacityUnits of
// its ConsumedCapacity (an object or a list of objects) halved, and otherwise unchanged. It
// turns the capacity of a strongly consistent read into that of an eventually consistent
// one. It returns false if the body isn't an object, has the member twice, or has units that
// aren't numbers.
func HalveCapacity(dst, body []byte) ([]byte, bool) {
	out := dst
	done := 0 // body[:done] has been appended
	it := Object(body)
	seen := false
	for it.Next() {
		if !NameIs(it.Name(), "ConsumedCapacity") {
			continue
		}
		if seen {
			return dst, false
		}
		seen = true
		out = append(out, body[done:it.Start()]...)
		done = it.End()
		var ok bool
		if out, ok = HalveUnits(out, it.Value()); !ok {
			return dst, false
		}
	}
	if it.Err() {
		return dst, false
	}
	return append(out, body[done:]...), true
}

// HalveUnits is like HalveCapacity, for the value of a ConsumedCapacity or an element of it.
func HalveUnits(dst, v []byte) ([]byte, bool) {
	var it Iter
	switch Kind(v) {
	case '{':
		it = Object(v)
	case '[':
		it = Array(v)
	default:
		return append(dst, v...), true
	}
	done, ok := 0, true
	for it.Next() {
		dst = append(dst, v[done:it.Start()]...)
		done = it.End()
		if it.object && isUnits(it.Name()) {
			dst, ok = appendHalf(dst, it.Value())
		} else {
			dst, ok = HalveUnits(dst, it.Value())
		}
		if !ok {
			return dst, false
		}
	}
	return append(dst, v[done:]...), !it.Err()
}

// isUnits reports whether a member counts capacity units. A table or an index of that name
// holds an object, which appendHalf passes on to HalveUnits.
func isUnits(name []byte) bool {
	return NameIs(name, "CapacityUnits") || NameIs(name, "ReadCapacityUnits")
}

func appendHalf(dst, v []byte) ([]byte, bool) {
	switch Kind(v) {
	case '{', 'n':
		return HalveUnits(dst, v)
	case '0':
		units, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return dst, false
		}
		return AppendUnits(dst, units/2), true
	}
	return dst, false
}

// AppendUnits appends capacity units as DynamoDB writes them: a decimal with at least one
// digit after the point. units must be finite.
func AppendUnits(dst []byte, units float64) []byte {
	dst = strconv.AppendFloat(dst, units, 'f', -1, 64)
	if units == math.Trunc(units) {
		dst = append(dst, '.', '0')
	}
	return dst
}
