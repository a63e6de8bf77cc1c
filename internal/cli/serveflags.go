package cli

import (
	"reflect"
	"strconv"
	"strings"
)

// serveOf returns the command serve of a command line as kong's parser would return it. ok is false
// if that parser is needed: for another command, a mistake, help, or one of the rarer ways to write
// flags. Building that parser takes 1 ms, which is much of the time until serve answers.
func serveOf(args []string) (c *serveCommand, ok bool) {
	if len(args) == 0 || args[0] != "serve" {
		return nil, false
	}
	c = &serveCommand{}
	flags, groups := serveFlags(reflect.ValueOf(c).Elem()), map[string]bool{}
	for args = args[1:]; len(args) > 0; args = args[1:] {
		name, value, joined := strings.Cut(args[0], "=")
		f := flags[name]
		if f == nil || f.given || groups[f.group] || joined && (f.Kind() == reflect.Bool || !strings.HasPrefix(name, "--")) {
			return nil, false
		}
		f.given = true
		if f.group != "" {
			groups[f.group] = true
		}
		if f.Kind() != reflect.Bool && !joined {
			if len(args) == 1 {
				return nil, false
			}
			args, value = args[1:], args[1]
		}
		if !f.set(value) {
			return nil, false
		}
	}
	return c, true
}

// serveFlag is a flag of serve.
type serveFlag struct {
	reflect.Value
	group string // only one flag of a group may be given; "" is none
	given bool
}

// serveFlags returns the flags of a struct by their names with the hyphens, as kong's tags define
// them, except enumerations. A field whose name is not a single word needs the tag name.
func serveFlags(v reflect.Value) map[string]*serveFlag {
	flags := map[string]*serveFlag{}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if _, embedded := f.Tag.Lookup("embed"); embedded {
			for name, inner := range serveFlags(v.Field(i)) {
				flags[name] = inner
			}
			continue
		}
		if _, enumeration := f.Tag.Lookup("enum"); enumeration {
			continue
		}
		name := f.Tag.Get("name")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		flag := &serveFlag{Value: v.Field(i), group: f.Tag.Get("xor")}
		if flags["--"+name] = flag; f.Tag.Get("short") != "" {
			flags["-"+f.Tag.Get("short")] = flag
		}
	}
	return flags
}

// set sets the flag's value, and reports whether it is a plain one.
func (f *serveFlag) set(value string) bool {
	switch {
	case f.Kind() == reflect.Bool:
		f.SetBool(true)
		return true
	case value == "" || value[0] == '-':
		return false
	case f.Kind() == reflect.String:
		f.SetString(value)
		return true
	}
	if p, ok := f.Addr().Interface().(**int); ok {
		n, err := strconv.ParseInt(value, 0, strconv.IntSize)
		port := int(n)
		*p = &port
		return err == nil
	}
	return false
}
