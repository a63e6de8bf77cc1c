package value

import "bytes"

// Equal reports whether two values are the same to DynamoDB. Numbers are compared by value,
// for example 1.0 and 1, and sets without order.
func (v *Value) Equal(w *Value) bool {
	if v.Type != w.Type {
		return false
	}
	switch v.Type {
	case Bool:
		return v.Bool == w.Bool
	case Null:
		return true
	case StringSet, NumberSet, BinarySet:
		return sameMembers(v.Items, w.Items)
	case List:
		return sameList(v.Items, w.Items)
	case Map:
		return sameMap(v.Members, w.Members)
	}
	return bytes.Equal(v.Text, w.Text) // for a Number, the normalized text
}

func sameList(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(&b[i]) {
			return false
		}
	}
	return true
}

// fewMembers is the maximum number of members that are compared pairwise. More are compared
// through a map.
const fewMembers = 16

// sameMembers compares two sets without duplicate members.
func sameMembers(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) <= fewMembers {
		for i := range a {
			if !Contains(b, &a[i]) {
				return false
			}
		}
		return true
	}
	in := make(map[string]struct{}, len(b))
	for i := range b {
		in[string(b[i].Text)] = struct{}{}
	}
	for i := range a {
		if _, ok := in[string(a[i].Text)]; !ok {
			return false
		}
	}
	return true
}

// Contains reports whether one of the items equals v.
func Contains(items []Value, v *Value) bool {
	for i := range items {
		if items[i].Equal(v) {
			return true
		}
	}
	return false
}

// sameMap compares two maps without duplicate names.
func sameMap(a, b []Member) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) <= fewMembers {
		other := Value{Members: b}
		for i := range a {
			if w := other.Get(a[i].Name); w == nil || !a[i].Value.Equal(w) {
				return false
			}
		}
		return true
	}
	at := make(map[string]*Value, len(b))
	for i := range b {
		at[b[i].Name] = &b[i].Value
	}
	for i := range a {
		if w := at[a[i].Name]; w == nil || !a[i].Value.Equal(w) {
			return false
		}
	}
	return true
}
