package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is a key of a mapping, as described by the struct tags.
type field struct {
	name     string
	index    []int // of the struct's field; nil if there is none
	typ      reflect.Type
	keyed    bool
	many     bool // a list whose single element may be written without brackets
	self     bool // the key that is set by a word in place of the mapping
	def      string
	enum     []string
	min, max string
	required string
	unless   string // the path of a key that makes this one optional
	later    string // for a key or, with typ a string, future words of the enum
	refuse   string
}

// fieldsOf returns the keys of a struct in their order, including those of inlined structs
// and of the given variant.
func fieldsOf(t reflect.Type, variant string) []field {
	var list []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, ok := sf.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case option == "name":
		case option == "inline" || option == "variant="+variant:
			inner := sf.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for _, f := range fieldsOf(inner, variant) {
				f.index = append(slices.Clone(sf.Index), f.index...)
				list = append(list, f)
			}
		case strings.HasPrefix(option, "variant="):
		default:
			list = append(list, newField(sf, name, option))
		}
	}
	return list
}

func newField(sf reflect.StructField, name, option string) field {
	f := field{
		name:     name,
		index:    sf.Index,
		typ:      sf.Type,
		keyed:    option == "keyed",
		many:     option == "many",
		self:     option == "self",
		def:      sf.Tag.Get("default"),
		min:      sf.Tag.Get("min"),
		max:      sf.Tag.Get("max"),
		required: sf.Tag.Get("required"),
		unless:   sf.Tag.Get("unless"),
		later:    sf.Tag.Get("later"),
		refuse:   sf.Tag.Get("refuse"),
	}
	if e := sf.Tag.Get("enum"); e != "" {
		f.enum = strings.Split(e, "|")
	}
	return f
}

// hidden reports whether the key is missing from the lists of allowed keys.
func (f *field) hidden() bool { return f.refuse != "" || f.later != "" && f.enum == nil }

func names(fields []field) []string {
	var list []string
	for i := range fields {
		if !fields[i].hidden() {
			list = append(list, fields[i].name)
		}
	}
	return list
}

// variants returns the types that a struct has variants for.
func variants(t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		if _, v, ok := strings.Cut(t.Field(i).Tag.Get("yaml"), ",variant="); ok {
			list = append(list, v)
		}
	}
	return list
}

// newEntry sets v to a struct with all defaults and the name that its key gives.
func newEntry(v reflect.Value, name, variant string) {
	t := v.Type()
	for i := range t.NumField() {
		_, option, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if option == "name" {
			v.Field(i).SetString(name)
		}
		if option == "variant="+variant {
			v.Field(i).Set(reflect.New(t.Field(i).Type.Elem()))
		}
	}
	setDefaults(v, variant)
}

// setDefaults sets every field of v, and of its nested structs, to its default.
func setDefaults(v reflect.Value, variant string) {
	for _, f := range fieldsOf(v.Type(), variant) {
		if f.hidden() {
			continue
		}
		target := v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Struct {
			setDefaults(target, "")
			continue
		}
		if f.def == "" {
			continue
		}
		if err := setDefault(target, f.def); err != nil {
			panic(fmt.Sprintf("config: default %q of %s: %v", f.def, f.name, err))
		}
	}
}

// defaultOf returns a struct with all defaults.
func defaultOf[T any]() (t T) {
	setDefaults(reflect.ValueOf(&t).Elem(), "")
	return t
}

func setDefault(v reflect.Value, text string) error {
	if v.Kind() == reflect.Slice {
		words := strings.Split(text, ",")
		v.Set(reflect.MakeSlice(v.Type(), len(words), len(words)))
		for i, word := range words {
			if err := setScalar(v.Index(i), word); err != nil {
				return err
			}
		}
		return nil
	}
	return setScalar(v, text)
}
