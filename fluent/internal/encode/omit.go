package encode

import "reflect"

// zeroer is a type with its own definition of zero.
type zeroer interface{ IsZero() bool }

var typeZeroer = reflect.TypeFor[zeroer]()

// omitter returns a function that reports whether to omit a value of type t; nil if none is
// omitted.
func omitter(t reflect.Type, tag tag) func(reflect.Value) bool {
	var zero, empty func(reflect.Value) bool
	if tag.omitZero {
		zero = zeroTest(t)
	}
	if tag.omitEmpty {
		empty = emptyTest(t)
	}
	switch {
	case zero == nil:
		return empty
	case empty == nil:
		return zero
	}
	return func(v reflect.Value) bool { return zero(v) || empty(v) }
}

// zeroTest returns the test of omitzero: IsZero, if t has it, otherwise whether every bit is
// 0.
func zeroTest(t reflect.Type) func(reflect.Value) bool {
	switch {
	case t.Implements(typeZeroer):
		return func(v reflect.Value) bool {
			switch v.Kind() {
			case reflect.Pointer, reflect.Interface:
				if v.IsNil() {
					return true
				}
			default:
				if v.CanAddr() {
					return isZero(v.Addr().Interface().(zeroer)) // makes no copy
				}
			}
			return isZero(v.Interface().(zeroer))
		}
	case reflect.PointerTo(t).Implements(typeZeroer):
		return func(v reflect.Value) bool {
			if !v.CanAddr() {
				c := reflect.New(v.Type())
				c.Elem().Set(v)
				v = c.Elem()
			}
			return isZero(v.Addr().Interface().(zeroer))
		}
	}
	return reflect.Value.IsZero
}

// isZero calls the user's code. A value that panics is encoded, where its own methods may
// report the error.
func isZero(v zeroer) (zero bool) {
	defer func() { _ = recover() }()
	return v.IsZero()
}

// emptyTest returns the test of omitempty; nil if no value of t is empty.
func emptyTest(t reflect.Type) func(reflect.Value) bool {
	switch t.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return func(v reflect.Value) bool { return v.Len() == 0 }
	case reflect.Pointer, reflect.Interface:
		return reflect.Value.IsNil
	case reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return reflect.Value.IsZero
	}
	return nil
}
