package encode

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/fluent/internal/msgpack"
)

// tagKeys are the keys of a field's tag; only the first one present is used.
var tagKeys = []string{"fluent", "msg", "json"}

// tag is the parsed tag of a field.
type tag struct {
	name                         string
	skip                         bool
	omitEmpty, omitZero, flatten bool
}

func parseTag(t reflect.StructTag) tag {
	for _, key := range tagKeys {
		text, ok := t.Lookup(key)
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(text, ",")
		list := strings.Split(options, ",")
		return tag{
			name:      name,
			skip:      text == "-",
			omitEmpty: slices.Contains(list, "omitempty"),
			omitZero:  slices.Contains(list, "omitzero"),
			flatten:   slices.Contains(list, "inline"),
		}
	}
	return tag{}
}

// candidate is a field found in a struct or in one embedded in it.
type candidate struct {
	field
	typ    reflect.Type
	tagged bool
	tag    tag
}

func (b builder) structPlan(t reflect.Type) *structPlan {
	found, rest := b.candidates(t)
	s := &structPlan{rest: rest}
	for _, c := range dominant(found) {
		c.key = msgpack.AppendString(nil, c.name)
		c.omit = omitter(c.typ, c.tag)
		if c.plan == nil {
			c.plan = b.plan(c.typ)
		}
		s.fields = append(s.fields, c.field)
	}
	fixed := len(rest) == 0
	for i := range s.fields {
		f := &s.fields[i]
		fixed = fixed && f.omit == nil && !f.behindPointer
	}
	if fixed {
		s.head = msgpack.AppendMapLen(nil, len(s.fields))
	}
	if len(rest) > 0 {
		s.names = make(map[string]struct{}, len(s.fields))
		for _, f := range s.fields {
			s.names[string(f.key)] = struct{}{}
		}
	}
	return s
}

// outer is a struct whose fields are to be examined: t itself, or an embedded one.
type outer struct {
	typ           reflect.Type
	index         []int
	behindPointer bool
}

// candidates returns the fields of t and of the structs embedded in it, the outermost first,
// and the maps to be inlined.
func (b builder) candidates(t reflect.Type) (found []candidate, rest []field) {
	seen := map[reflect.Type]bool{t: true}
	for level := []outer{{typ: t}}; len(level) > 0; {
		var next []outer
		times := map[reflect.Type]int{}
		for _, o := range level {
			for i := range o.typ.NumField() {
				c, ok := b.candidate(o, o.typ.Field(i))
				switch {
				case !ok:
				case c.typ == nil: // its fields, not itself
					in := o.typ.Field(i).Type
					if in.Kind() == reflect.Pointer {
						in = in.Elem()
					}
					// Two of a type at one level hide each other's fields, and more change
					// nothing.
					if !seen[in] && times[in] < 2 {
						times[in]++
						next = append(next, outer{in, c.index, c.behindPointer})
					}
				case c.tag.flatten:
					rest = append(rest, c.field)
				default:
					found = append(found, c)
				}
			}
		}
		for in := range times {
			seen[in] = true
		}
		level = next
	}
	return found, rest
}

// candidate examines a field of o. It has no type if the fields inside it are meant. The
// result is false for an omitted field.
func (b builder) candidate(o outer, sf reflect.StructField) (candidate, bool) {
	c := candidate{typ: sf.Type, tag: parseTag(sf.Tag)}
	c.index = append(slices.Clone(o.index), sf.Index...)
	c.behindPointer = o.behindPointer
	if c.tag.skip {
		return c, false
	}
	in := sf.Type
	if in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	isStruct := in.Kind() == reflect.Struct && !(&plan{}).byType(in) && !(&plan{}).byMethod(in)
	switch {
	case !sf.IsExported() && !(sf.Anonymous && isStruct):
		return c, false
	case isStruct && (c.tag.flatten || sf.Anonymous && c.tag.name == ""):
		c.typ = nil
		c.behindPointer = c.behindPointer || sf.Type.Kind() == reflect.Pointer
		return c, true
	case !sf.IsExported():
		return c, false
	case c.tag.flatten:
		c.name, c.plan = sf.Name, b.inlined(sf.Type)
		if c.plan.op == opRefuse { // as a field, it fails when it's encoded
			c.tag = tag{}
		}
		return c, true
	}
	if c.name = c.tag.name; c.name != "" {
		c.tagged = true
	} else {
		c.name = sf.Name
	}
	return c, true
}

// dominant selects from the candidates with one name the outermost, and among these the one
// with a name from a tag; if more than one remains, none. The order is that of the struct.
func dominant(all []candidate) []candidate {
	byName := map[string][]candidate{}
	for _, c := range all {
		byName[c.name] = append(byName[c.name], c)
	}
	var picked []candidate
	for _, list := range byName {
		slices.SortStableFunc(list, preferred)
		if len(list) == 1 || preferred(list[0], list[1]) != 0 {
			picked = append(picked, list[0])
		}
	}
	slices.SortFunc(picked, func(a, b candidate) int { return slices.Compare(a.index, b.index) })
	return picked
}

func preferred(a, b candidate) int {
	if d := cmp.Compare(len(a.index), len(b.index)); d != 0 || a.tagged == b.tagged {
		return d
	}
	if a.tagged {
		return -1
	}
	return 1
}
