package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// MarshalJSON writes the configuration with the names of the file, every
// default filled in, and no secrets. Keys that are left out and have no default
// are left out here too.
func (c *Config) MarshalJSON() ([]byte, error) {
	return appendStruct(nil, reflect.ValueOf(c).Elem(), false), nil
}

// Changed is [Config.MarshalJSON] of only what differs from the defaults.
func (c *Config) Changed() []byte {
	return appendStruct(nil, reflect.ValueOf(c).Elem(), true)
}

func appendStruct(dst []byte, v reflect.Value, changed bool) []byte {
	variant := ""
	if s, ok := v.Interface().(Service); ok {
		variant = s.Type
	}
	base := reflect.New(v.Type()).Elem()
	newEntry(base, "", variant)
	dst = append(dst, '{')
	for _, f := range fieldsOf(v.Type(), variant) {
		if f.hidden() {
			continue
		}
		x := v.FieldByIndex(f.index)
		optional := x.Kind() == reflect.Pointer
		if optional {
			if x.IsNil() {
				continue
			}
			x = x.Elem()
		}
		if f.def == "" && !optional && x.Kind() != reflect.Struct && x.IsZero() ||
			changed && reflect.DeepEqual(x.Interface(), indirect(base.FieldByIndex(f.index))) {
			continue
		}
		dst = appendString(comma(dst), f.name)
		dst = append(dst, ':')
		dst = appendValue(dst, x, f.keyed, changed)
	}
	return append(dst, '}')
}

func indirect(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return v.Interface()
}

func comma(dst []byte) []byte {
	if c := dst[len(dst)-1]; c != '{' && c != '[' {
		return append(dst, ',')
	}
	return dst
}

func appendValue(dst []byte, v reflect.Value, keyed, changed bool) []byte {
	if r, ok := v.Interface().(RefreshAhead); ok {
		return append(dst, r.String()...)
	}
	if s, ok := v.Addr().Interface().(scalar); ok {
		return appendString(dst, s.String())
	}
	switch {
	case v.Kind() == reflect.Struct:
		return appendStruct(dst, v, changed)
	case keyed:
		dst = append(dst, '{')
		for i := range v.Len() {
			dst = appendString(comma(dst), nameOf(v.Index(i)))
			dst = append(dst, ':')
			dst = appendStruct(dst, v.Index(i), changed)
		}
		return append(dst, '}')
	case v.Kind() == reflect.Slice:
		dst = append(dst, '[')
		for i := range v.Len() {
			dst = appendValue(comma(dst), v.Index(i), false, changed)
		}
		return append(dst, ']')
	case v.Kind() == reflect.String:
		return appendString(dst, v.String())
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic("config: " + err.Error()) // numbers and booleans only
	}
	return append(dst, text...)
}

func nameOf(v reflect.Value) string {
	for i := range v.NumField() {
		if strings.HasSuffix(v.Type().Field(i).Tag.Get("yaml"), ",name") {
			return v.Field(i).String()
		}
	}
	panic("config: a keyed list of " + v.Type().String())
}

func appendString(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("config: " + err.Error()) // a string always can
	}
	return append(dst, text...)
}
