package policy

import (
	"bytes"

	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// targeted finds the policy that goes before Cache-Control: the first field of
// names that is there, has something in it and can be read (RFC 9213, section 2.2).
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

// combined is the value of all lines of a field, whatever the case of its name.
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

// member is a directive that a targeted field may hold: one that is there or
// not, or one with a number.
type targetedMembers struct {
	flags   [len(flags)]sfValue
	numbers [len(durations)]sfValue
}

// durations are the directives of a response that have a number.
var durations = [...]string{"max-age", "s-maxage", "stale-while-revalidate", "stale-if-error"}

// parseTargeted reads a targeted field. One directive of the wrong type spoils
// all, as a malformed field does. Of a key that comes twice the last counts.
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

// set keeps a member whose key is a directive.
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

// duration gives the number of an Integer. A negative lifetime is none at all,
// and any other negative duration is as if it were not there.
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

// member takes in a directive that is there or not. Only no-cache and private
// may name fields instead.
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

// fieldNames are the names in texts, each of which may be a list.
func fieldNames(texts []string) (names []string) {
	for _, t := range texts {
		d := directive{arg: []byte(t), kind: token}
		names = append(names, d.names()...)
	}
	return names
}
