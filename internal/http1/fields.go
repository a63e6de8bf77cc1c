package http1

import (
	"slices"

	"github.com/kasoku/kasoku/internal/ascii"
)

// Field is one header line as it was sent, without the white space around the
// value.
type Field struct{ Name, Value []byte }

// Is reports whether the field is called name, in any case.
func (f Field) Is(name string) bool { return ascii.EqualFold(f.Name, name) }

// Fields are header lines in their order.
type Fields []Field

// FieldsOf makes fields from names and values in turn.
func FieldsOf(pairs ...string) Fields {
	f := make(Fields, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		f = append(f, Field{Name: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return f
}

// Get returns the value of the first field called name, in any case, or nil.
func (f Fields) Get(name string) []byte {
	for i := range f {
		if p := &f[i]; len(p.Name) == len(name) && ascii.EqualFold(p.Name, name) {
			return p.Value
		}
	}
	return nil
}

// without removes the fields with the name, which is in lower case, from f in place.
func (f Fields) without(name string) Fields {
	return slices.DeleteFunc(f, func(x Field) bool { return x.Is(name) })
}

// Clone copies the fields and all their bytes into memory of their own.
func (f Fields) Clone() Fields {
	c, _ := f.CloneInto(nil, nil)
	return c
}

// CloneInto is Clone into memory of former results, which are overwritten. It returns the copy
// and its bytes.
func (f Fields) CloneInto(c Fields, text []byte) (Fields, []byte) {
	size := 0
	for i := range f {
		size += len(f[i].Name) + len(f[i].Value)
	}
	c, text = slices.Grow(c[:0], len(f)), slices.Grow(text[:0], size)
	for i := range f {
		name := len(text)
		text = append(text, f[i].Name...)
		value := len(text)
		text = append(text, f[i].Value...)
		c = append(c, Field{Name: text[name:value:value], Value: text[value:len(text):len(text)]})
	}
	return c, text
}
