package policy

import (
	"github.com/kasoku/kasoku/internal/ascii"
	"github.com/kasoku/kasoku/internal/http1"
)

// toLower returns a copy of b in lower case.
func toLower(b []byte) string { return string(ascii.AppendLower(make([]byte, 0, len(b)), b)) }

// cutMember splits a comma-separated list after its first member. Quoted commas don't
// separate, and within quotes a backslash escapes the next byte.
func cutMember(list []byte) (member, rest []byte) {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			if quoted {
				i++
			}
		case '"':
			quoted = !quoted
		case ',':
			if !quoted {
				return ascii.Trim(list[:i]), list[i+1:]
			}
		}
	}
	return ascii.Trim(list), nil
}

// openQuote returns the text after an unclosed quote; nil if there is none.
func openQuote(member []byte) (open []byte) {
	for i := 0; i < len(member); i++ {
		switch {
		case member[i] == '\\' && open != nil:
			i++
		case member[i] == '"' && open == nil:
			open = member[i+1:]
		case member[i] == '"':
			open = nil
		}
	}
	return open
}

// members iterates over all non-empty members of a list field by its lower-case name, line
// by line. An unclosed quote ends with its line, so that a malformed line can't hide the
// restrictions of the next one.
type members struct {
	fields http1.Fields
	name   string
	rest   []byte
}

// listOf returns the members of the field called name.
func listOf(h http1.Fields, name string) members { return members{fields: h, name: name} }

// next returns the next member, or nil at the end.
func (m *members) next() []byte {
	for {
		for len(m.rest) > 0 {
			var member []byte
			if member, m.rest = cutMember(m.rest); len(member) > 0 {
				return member
			}
		}
		for len(m.fields) > 0 && !ascii.EqualFold(m.fields[0].Name, m.name) {
			m.fields = m.fields[1:]
		}
		if len(m.fields) == 0 {
			return nil
		}
		m.rest, m.fields = m.fields[0].Value, m.fields[1:]
	}
}

// maxDelta bounds durations, at some 34,000 years: far above every real one, and small
// enough that sums of a few do not overflow.
const maxDelta = 1 << 40

// seconds parses delta-seconds: only digits, of any number. quoted allows escapes.
func seconds(b []byte, quoted bool) (int64, bool) {
	n, digits := int64(0), 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		if quoted && c == '\\' && i+1 < len(b) {
			i++
			c = b[i]
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int64(c-'0'), maxDelta)
		digits++
	}
	return n, digits > 0
}
