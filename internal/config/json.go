package config

import (
	"encoding/json"
	"reflect"
	"strings"
)

// MarshalJSON returns the configuration with the names of the file, all defaults filled in,
// and no secrets. It omits keys that are left out and have no default.
func (c *Config) MarshalJSON() ([]byte, error) {
	return (&printer{hidden: c.hidden}).appendStruct(nil, reflect.ValueOf(c).Elem()), nil
}

// Changed returns the part of [Config.MarshalJSON] that differs from the defaults.
func (c *Config) Changed() []byte {
	return (&printer{hidden: c.hidden, changed: true}).appendStruct(nil, reflect.ValueOf(c).Elem())
}

// printer writes a configuration as JSON.
type printer struct {
	changed bool     // only values that differ from the defaults
	hidden  redactor // secrets within values
}

func (p *printer) appendStruct(dst []byte, v reflect.Value) []byte {
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
			p.changed && reflect.DeepEqual(x.Interface(), indirect(base.FieldByIndex(f.index))) {
			continue
		}
		dst = appendString(comma(dst), f.name)
		dst = append(dst, ':')
		dst = p.appendValue(dst, x, f.keyed)
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

func (p *printer) appendValue(dst []byte, v reflect.Value, keyed bool) []byte {
	if r, ok := v.Interface().(RefreshAhead); ok {
		return append(dst, r.String()...)
	}
	if s, ok := v.Addr().Interface().(scalar); ok {
		return p.appendText(dst, s.String())
	}
	switch {
	case v.Kind() == reflect.Struct:
		return p.appendStruct(dst, v)
	case keyed:
		dst = append(dst, '{')
		for i := range v.Len() {
			dst = appendString(comma(dst), nameOf(v.Index(i)))
			dst = append(dst, ':')
			dst = p.appendStruct(dst, v.Index(i))
		}
		return append(dst, '}')
	case v.Kind() == reflect.Slice:
		dst = append(dst, '[')
		for i := range v.Len() {
			dst = p.appendValue(comma(dst), v.Index(i), false)
		}
		return append(dst, ']')
	case v.Kind() == reflect.String:
		return p.appendText(dst, v.String())
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

// appendText appends a value as it is written in the file, with references to environment
// variables escaped.
func (p *printer) appendText(dst []byte, s string) []byte {
	return appendString(dst, p.hidden.redact(reference().ReplaceAllString(s, "$$$0")))
}

func appendString(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("config: " + err.Error()) // cannot happen for a string
	}
	return append(dst, text...)
}
