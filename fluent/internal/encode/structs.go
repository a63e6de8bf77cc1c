package encode

import (
	"reflect"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// structPlan describes how the structs of a type are encoded.
type structPlan struct {
	fields []field
	rest   []field // maps with inline, whose pairs are encoded last

	// head is the head of a map of all fields; empty if some may be omitted or there are
	// inlined maps.
	head []byte

	// names are the encoded names of fields, which inlined maps may not repeat.
	names map[string]struct{}
}

// field is one pair of the map that encodes a struct.
type field struct {
	key   []byte // the name, encoded
	index []int  // path of the value, as for reflect's FieldByIndex
	plan  *plan
	omit  func(reflect.Value) bool // reports whether to omit a value; nil for never
	name  string

	// behindPointer is set if the path has an embedded pointer; if that is nil, the field is
	// omitted.
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
		// Most fields are the struct's own, and text or integers: handling them here avoids
		// two calls, a fifth of the cost of a struct of twelve.
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

// appendSome is append for structs with fields that may be omitted: the head is written for
// the maximum and corrected at the end.
func (s *structPlan) appendSome(dst []byte, v reflect.Value, depth int) ([]byte, error) {
	start, maximum := len(dst), len(s.fields)
	for i := range s.rest {
		if in := s.rest[i].in(v); in.IsValid() {
			maximum += in.Len()
		}
	}
	dst = msgpack.AppendMapLen(dst, maximum)
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

// appendRest appends the pairs of an inlined map, except those with the name of a field.
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

// correctMapLen sets the length of the map whose head is at start and whose pairs are at
// body to n, which is at most that of its head.
func correctMapLen(dst []byte, start, body, n int) []byte {
	head := len(msgpack.AppendMapLen(dst[:start], n))
	if head == body {
		return dst
	}
	return dst[:head+copy(dst[head:], dst[body:])]
}

// in returns the field's value in v; the zero Value if a pointer on its path is nil.
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
