package anonymise

import (
	"errors"
	"slices"
	"strings"

	"github.com/kasoku/kasoku/internal/dynamo/value"
)

// path leads from an item to values in it.
type path []segment

// segment is a step of a path: to the member of a map, or to each element of a list or set.
type segment struct {
	name string
	each bool
}

// parsePath parses a path such as a.b[*].c. A name with other characters than letters,
// digits, _ and - is written in double quotes.
func parsePath(text string) (path, error) {
	var p path
	for rest := text; ; {
		name, after, err := parseName(rest)
		if err != nil {
			return nil, err
		}
		p, rest = append(p, segment{name: name}), after
		for strings.HasPrefix(rest, "[*]") {
			p, rest = append(p, segment{each: true}), rest[len("[*]"):]
		}
		if rest == "" {
			return p, nil
		}
		if rest[0] != '.' {
			return nil, errors.New(`is no path: after a name there is a dot, [*] or the end; names with other characters are in double quotes`)
		}
		rest = rest[1:]
	}
}

// parseName splits a name off the text.
func parseName(text string) (name, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		end := strings.IndexByte(text[1:], '"')
		if end < 1 {
			return "", "", errors.New("has a name in quotes that is empty or has no end")
		}
		return text[1 : end+1], text[end+2:], nil
	}
	n := strings.IndexFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c < 0x80
	})
	if n < 0 {
		n = len(text)
	}
	if n == 0 {
		return "", "", errors.New("is no path: a name is missing")
	}
	return text[:n], text[n:], nil
}

// edit returns v with f applied to the values that the path leads to, and false if v itself
// is removed. Parts that change are copied.
func (p path) edit(v value.Value, f func(value.Value) (value.Value, bool)) (value.Value, bool) {
	if len(p) == 0 {
		return f(v)
	}
	step, rest := p[0], p[1:]
	if step.each {
		return editEach(v, func(e value.Value) (value.Value, bool) { return rest.edit(e, f) })
	}
	i := slices.IndexFunc(v.Members, func(m value.Member) bool { return m.Name == step.name })
	if i < 0 || v.Type != value.Map {
		return v, true
	}
	member, keep := rest.edit(v.Members[i].Value, f)
	v.Members = slices.Clone(v.Members)
	if keep {
		v.Members[i].Value = member
	} else {
		v.Members = slices.Delete(v.Members, i, i+1)
	}
	return v, true
}

// editEach applies f to the elements of a list or set. A set without members is removed,
// because there is none in DynamoDB.
func editEach(v value.Value, f func(value.Value) (value.Value, bool)) (value.Value, bool) {
	set := v.Type.Element() != 0
	if !set && v.Type != value.List {
		return v, true
	}
	items := make([]value.Value, 0, len(v.Items))
	seen := make(map[string]bool)
	for _, e := range v.Items {
		e, keep := f(e)
		if !keep || set && seen[string(e.Text)] {
			continue
		}
		if set {
			if e.Type != v.Type.Element() { // a constant of another type
				return v, false
			}
			seen[string(e.Text)] = true
		}
		items = append(items, e)
	}
	v.Items = items
	return v, !set || len(items) > 0
}

// leaves applies f to a scalar, or to all scalars in v.
func leaves(v value.Value, f func(value.Value) value.Value) value.Value {
	switch {
	case v.Type == value.Map:
		v.Members = slices.Clone(v.Members)
		for i := range v.Members {
			v.Members[i].Value = leaves(v.Members[i].Value, f)
		}
	case v.Type == value.List || v.Type.Element() != 0:
		v, _ = editEach(v, func(e value.Value) (value.Value, bool) { return leaves(e, f), true })
	case v.Type == value.Bool || v.Type == value.Null:
	default:
		return f(v)
	}
	return v
}
