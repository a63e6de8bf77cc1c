package encode

import (
	"reflect"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// structPlan is how the structs of one type are written.
type structPlan struct {
	fields []field
	rest   []field // maps with inline, whose pairs come last

	// head is the head of a map of all fields; empty if some may be left out or
	// there is a rest.
	head []byte

	// names are the encoded names of fields, which the rest may not repeat.
	names map[string]struct{}
}

// field is one pair of the map that a struct becomes.
type field struct {
	key   []byte // the name, encoded
	index []int  // where the value is, as reflect's FieldByIndex takes it
	plan  *plan
	omit  func(reflect.Value) bool // whether to leave a value out; nil: never
	name  string

	// behindPointer: an embedded pointer is on the way, which may be nil; the
	// field is left out then.
	behindPointer bool
}

func (s *structPlan) append(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	if depth >= maxDepth {
		return dst, errTooDeep()
	}
	if len(s.head) == 0 {
		return s.appendSome(dst, v, depth)
	}
	dst = append(dst, s.head...)
	for i := range s.fields {
		f := &s.fields[i]
		// Most fields are the struct's own, and text or integers: those are
		// spared two calls, a fifth of what a struct of twelve costs.
		var in reflect.Value
		if len(f.index) == 1 {
			in = v.Field(f.index[0])
		} else {
			in = f.in(v)
		}
		dst = append(dst, f.key...)
		switch f.plan.op {
		case opString:
			dst = msgpack.AppendString(dst, in.String())
			continue
		case opInt:
			dst = msgpack.AppendInt(dst, in.Int())
			continue
		}
		var err error
		dst, err = f.plan.append(dst, in, depth+1)
		if err != nil {
			return dst, Within(err, f.name)
		}
	}
	return dst, nil
}

// appendSome is append for structs of which some fields may be missing: the
// head is written for the most that there can be, and corrected at the end.
func (s *structPlan) appendSome(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	start, most := len(dst), len(s.fields)
	for i := range s.rest {
		if in := s.rest[i].in(v); in.IsValid() {
			most += in.Len()
		}
	}
	dst = msgpack.AppendMapLen(dst, most)
	body, n := len(dst), 0
	for i := range s.fields {
		f := &s.fields[i]
		in := f.in(v)
		if !in.IsValid() || f.omit != nil && f.omit(in) {
			continue
		}
		var err error
		dst, err = f.plan.append(append(dst, f.key...), in, depth+1)
		if err != nil {
			return dst, Within(err, f.name)
		}
		n++
	}
	for i := range s.rest {
		in := s.rest[i].in(v)
		if !in.IsValid() {
			continue
		}
		var more int
		var err error
		if dst, more, err = s.appendRest(dst, &s.rest[i], in, depth); err != nil {
			return dst, err
		}
		n += more
	}
	return correctMapLen(dst, start, body, n), nil
}

// appendRest adds the pairs of an inlined map that no field has the name of.
func (s *structPlan) appendRest(dst []byte, f *field, v reflect.Value, depth int) ([]byte, int, error) {
	n := v.Len()
	dst, err := f.plan.appendPairs(dst, v, depth, func(key []byte) bool {
		_, taken := s.names[string(key)]
		if taken {
			n--
		}
		return taken
	})
	return dst, n, err
}

// correctMapLen gives the map whose head is at start and whose pairs are at body
// the length n, which is at most that of its head.
func correctMapLen(dst []byte, start, body, n int) []byte {
	head := len(msgpack.AppendMapLen(dst[:start], n))
	if head == body {
		return dst
	}
	return dst[:head+copy(dst[head:], dst[body:])]
}

// in returns the field's value in v; the zero Value if a nil pointer is before it.
func (f *field) in(v reflect.Value) reflect.Value {
	if len(f.index) == 1 {
		return v.Field(f.index[0])
	}
	for i, x := range f.index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return reflect.Value{}
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}
