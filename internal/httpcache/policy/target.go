package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// targeted returns the policy that replaces Cache-Control: the first field of names that is
// present, not empty and valid (RFC 9213, section 2.2).
func targeted(h http1.Fields, names []string) (control, bool) {
	for _, name := range names {
		text := combined(h, name)
		if len(text) == 0 {
			continue
		}
		read := parseTargeted
		if ascii.EqualFold(name, SurrogateControl) {
			read = parseSurrogate
		}
		if c, ok := read(text); ok {
			return c, true
		}
	}
	return control{}, false
}

// combined returns the value of all lines of a field, whatever the case of its name.
func combined(h http1.Fields, name string) []byte {
	var text []byte
	lines := 0
	for i := range h {
		if f := &h[i]; len(f.Name) == len(name) && ascii.EqualFold(f.Name, name) {
			if lines++; lines > 1 {
				text = append(text, ", "...)
			}
			text = append(text, f.Value...)
		}
	}
	return bytes.Trim(text, " \t")
}

// targetedMembers collects the members of a targeted field: directives with and without a
// number.
type targetedMembers struct {
	flags   [len(flags)]sfValue
	numbers [len(durations)]sfValue
}

// durations are the response directives with a number.
var durations = [...]string{"max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"}

// parseTargeted parses a targeted field. A directive of the wrong type invalidates all of
// it, like a syntax error. Of a repeated key the last one counts.
func parseTargeted(text []byte) (control, bool) {
	var m targetedMembers
	if !readDictionary(text, m.set) {
		return control{}, false
	}
	c := control{sharedAge: none, maxAge: none, swr: none, sie: none}
	ok := true
	for i, to := range []*int64{&c.maxAge, &c.sharedAge, &c.swr, &c.sie} {
		ok = m.numbers[i].duration(to, i < 2) && ok
	}
	for i, v := range m.flags {
		ok = c.member(flags[i].bit, v) && ok
	}
	return c, ok
}

// set stores a member whose key is a directive.
func (m *targetedMembers) set(key string, v sfValue) {
	for i, name := range durations {
		if key == name {
			m.numbers[i] = v
		}
	}
	for i := range flags {
		if key == flags[i].name {
			m.flags[i] = v
		}
	}
}

// duration stores the number of an Integer in to. A negative lifetime counts as 0; any other
// negative duration is ignored.
func (v sfValue) duration(to *int64, lifetime bool) bool {
	switch {
	case v.kind == sfAbsent:
	case v.kind != sfInteger:
		return false
	case v.number >= 0 || lifetime:
		*to = max(0, v.number)
	}
	return true
}

// member applies a directive without a number. Only no-cache and private may have field
// names as their value.
func (c *control) member(bit Directives, v sfValue) bool {
	switch v.kind {
	case sfAbsent:
		return true
	case sfBoolean:
		if v.number == 1 {
			c.flags |= bit
		}
		return true
	case sfString, sfToken, sfInnerList:
		if bit.Has(NoCache | Private) {
			c.flag(bit, fieldNames(v.texts))
			return true
		}
	}
	return false
}

// fieldNames returns the names in texts, each of which may be a list.
func fieldNames(texts []string) (names []string) {
	for _, t := range texts {
		d := directive{arg: []byte(t), kind: token}
		names = append(names, d.names()...)
	}
	return names
}
